//! Tests that a URL of a non-public host is refused in every spelling, both when it is submitted and when it is
//! connected to.

use super::*;

/// URLs that reach no public host, each as a customer might write it.
const REFUSED: [&str; 96] = [
    // Schemes.
    "http://hooks.example.com/",
    "ftp://hooks.example.com/",
    "file:///etc/passwd",
    "gopher://hooks.example.com/",
    "javascript:alert(1)",
    "unix:/run/docker.sock",
    "hooks.example.com",
    "//hooks.example.com/",
    "https://",
    "",
    // User names, passwords, ports.
    "https://user@hooks.example.com/",
    "https://user:password@hooks.example.com/",
    "https://hooks.example.com@127.0.0.1/",
    "https://hooks.example.com:0/",
    "https://hooks.example.com:65536/",
    "https://hooks.example.com:https/",
    // Loopback, in the notations of IPv4.
    "https://127.0.0.1/",
    "https://127.0.0.1:8443/",
    "https://127.0.0.1./",
    "https://127.1/",
    "https://127.0.1/",
    "https://127.255.255.254/",
    "https://2130706433/",
    "https://0x7f000001/",
    "https://0x7f.0x0.0x0.0x1/",
    "https://0x7F.1/",
    "https://0177.0.0.1/",
    "https://0177.0.0.01/",
    "https://017700000001/",
    "https://0/",
    "https://0.0.0.0/",
    "https://%31%32%37.0.0.1/",
    "https://\u{2460}\u{2461}\u{2466}.\u{24ea}.\u{24ea}.\u{2460}/",
    "https://\u{ff11}\u{ff12}\u{ff17}.\u{ff10}.\u{ff10}.\u{ff11}/",
    "https://127\u{3002}0\u{3002}0\u{3002}1/",
    "https://\\127.0.0.1/",
    "https:\\\\127.0.0.1\\",
    "https:127.0.0.1/",
    " https://127.0.0.1/",
    "https://127.0.0\t.1/",
    // Private networks.
    "https://10.0.0.1/",
    "https://10.255.255.255/",
    "https://0xa000001/",
    "https://172.16.0.1/",
    "https://172.31.255.255/",
    "https://192.168.0.1/",
    "https://3232235521/",
    "https://100.64.0.1/",
    "https://100.127.255.255/",
    "https://169.254.1.1/",
    // Metadata of clouds.
    "https://169.254.169.254/latest/meta-data/",
    "https://2852039166/",
    "https://0xa9fea9fe/",
    "https://[::ffff:169.254.169.254]/",
    "https://[fd00:ec2::254]/",
    "https://100.100.100.200/",
    "https://168.63.129.16/",
    "https://192.0.0.192/",
    "https://metadata.google.internal/",
    "https://metadata.google.internal./",
    "https://METADATA.Google.INTERNAL/",
    "https://metadata/",
    // Documentation, benchmarks, relays, multicast, reserved.
    "https://192.0.2.1/",
    "https://198.51.100.7/",
    "https://203.0.113.255/",
    "https://198.18.0.1/",
    "https://198.19.255.255/",
    "https://192.88.99.1/",
    "https://224.0.0.1/",
    "https://239.255.255.250/",
    "https://240.0.0.1/",
    "https://255.255.255.255/",
    // IPv6.
    "https://[::]/",
    "https://[::1]/",
    "https://[0:0:0:0:0:0:0:1]:8443/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:7f00:1]/",
    "https://[::ffff:8.8.8.8]/",
    "https://[::127.0.0.1]/",
    "https://[64:ff9b::7f00:1]/",
    "https://[64:ff9b::808:808]/",
    "https://[64:ff9b:1::a00:1]/",
    "https://[2002:7f00:1::]/",
    "https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/",
    "https://[2001:2::1]/",
    "https://[2001:db8::1]/",
    "https://[3fff::1]/",
    "https://[fc00::1]/",
    "https://[fdff:ffff::1]/",
    "https://[fe80::1]/",
    "https://[fe80::1%25eth0]/",
    "https://[fec0::1]/",
    "https://[ff02::1]/",
    "https://[100::1]/",
    // Names of the machine and of local networks.
    "https://localhost/",
    "https://app.localhost/",
];

/// URLs of public hosts.
const ACCEPTED: [&str; 12] = [
    "https://hooks.example.com/",
    "https://hooks.example.com:8443/path?token=1#part",
    "https://HOOKS.example.com./",
    "https://xn--caf-dma.example.com/",
    "https://localhost.example.com/",
    "https://internal.example.com/",
    "https://8.8.8.8/",
    "https://172.32.0.1/",
    "https://100.128.0.1/",
    "https://169.253.0.1/",
    "https://[2606:4700::6810:84e5]/",
    "https://[2a01:e0a::1]/",
];

fn gate(list: &str) -> EgressGuard {
    let lookup = |name: &str| match name.trim_end_matches('.') {
        "inside.example.com" => Ok(vec!["10.1.2.3".parse().unwrap()]),
        "both.example.com" => Ok(vec!["8.8.8.8".parse().unwrap(), "::1".parse().unwrap()]),
        "nowhere.example.com" => Err(std::io::ErrorKind::NotFound.into()),
        "nothing.example.com" => Ok(Vec::new()),
        "trial.lan" | "localhost" => Ok(vec!["127.0.0.1".parse().unwrap()]),
        _ => Ok(vec!["8.8.8.8".parse().unwrap()]),
    };
    EgressGuard::asking(AllowedHosts::parse(list).unwrap(), lookup)
}

#[tokio::test]
async fn no_form_of_a_non_public_address_is_accepted() {
    let gate = gate("");
    for form in REFUSED {
        let checked = gate.check(form).await;
        assert!(checked.is_err(), "{form} was accepted as {checked:?}");
    }
    for form in ACCEPTED {
        let checked = gate.check(form).await;
        assert!(checked.is_ok(), "{form}: {checked:?}");
    }
    let long = format!("https://hooks.example.com/{}", "x".repeat(URL_CHARS_MAX));
    assert_eq!(gate.check(&long).await, Err(UrlRefusal::TooLong));
}

#[tokio::test]
async fn a_name_is_checked_by_every_address_it_resolves_to() {
    let gate = gate("");
    for name in ["inside.example.com", "both.example.com"] {
        let refused = gate.check(&format!("https://{name}/")).await;
        assert_eq!(refused, Err(UrlRefusal::ResolvesToPrivate(name.into())));
    }
    for name in ["nowhere.example.com", "nothing.example.com"] {
        let refused = gate.check(&format!("https://{name}/")).await;
        assert_eq!(refused, Err(UrlRefusal::Unresolved(name.into())));
    }
    let admitted = gate.admitted("both.example.com").await;
    assert_eq!(
        admitted,
        Ok(vec!["8.8.8.8".parse().unwrap()]),
        "a connection uses the public address only"
    );
    assert!(gate.admitted("inside.example.com").await.is_err());
}

#[tokio::test]
async fn only_exempt_hosts_may_be_local_and_use_plain_http() {
    let gate = gate("127.0.0.1, trial.lan,[::1], LOCALHOST ,");
    for form in [
        "http://127.0.0.1:9000/hook",
        "https://127.0.0.1/",
        "http://2130706433:9000/",
        "http://trial.lan/",
        "http://Trial.LAN./",
        "http://[::1]:9000/",
        "http://localhost:9000/",
    ] {
        let checked = gate.check(form).await;
        assert!(checked.is_ok(), "{form}: {checked:?}");
    }
    for form in [
        "http://127.0.0.2/",
        "http://app.localhost/",
        "http://sub.trial.lan/",
        "http://[::ffff:127.0.0.1]/",
        "http://hooks.example.com/",
        "https://10.0.0.1/",
        "ftp://127.0.0.1/",
        "http://user@127.0.0.1/",
    ] {
        let checked = gate.check(form).await;
        assert!(checked.is_err(), "{form} was accepted as {checked:?}");
    }
    assert!(gate.admitted("trial.lan").await.is_ok());
}

#[test]
fn a_list_of_exempt_hosts_holds_names_and_addresses_only() {
    for list in [
        "http://127.0.0.1",
        "127.0.0.1:80",
        "a b",
        "user@host",
        "host/path",
        "300.1.1.1",
    ] {
        assert!(AllowedHosts::parse(list).is_err(), "{list}");
    }
    assert_eq!(AllowedHosts::parse(" , ").unwrap(), AllowedHosts::default());
}

#[test]
fn every_range_is_refused_from_its_first_address_to_its_last() {
    for (first, last) in [
        ("100.64.0.0", "100.127.255.255"),
        ("172.16.0.0", "172.31.255.255"),
        ("198.18.0.0", "198.19.255.255"),
        ("224.0.0.0", "255.255.255.255"),
        ("2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ] {
        for address in [first, last] {
            assert!(
                non_public_reason(address.parse().unwrap()).is_some(),
                "{address}"
            );
        }
    }
    for address in [
        "100.63.255.255",
        "172.15.255.255",
        "223.255.255.255",
        "2001:200::",
        "2003::",
        "2620::1",
    ] {
        assert_eq!(
            non_public_reason(address.parse().unwrap()),
            None,
            "{address}"
        );
    }
}

#[test]
fn a_receiver_is_written_in_the_usual_notation() {
    let guard = EgressGuard::new(AllowedHosts::default());
    assert!(guard.check_syntax("HTTPS://93.184.216.34/hook").is_ok());
    for text in [
        "https:93.184.216.34/",
        "https:/93.184.216.34/",
        "https:///93.184.216.34/",
        "https:\\\\93.184.216.34\\",
        "https://93.184.216.34/a\nb",
        "https://93.184\t.216.34/",
        "https://93.184.216.34/ ",
        " https://93.184.216.34/",
        "https://93.184.216.34/a\u{2028}b",
    ] {
        let refused = guard.check_syntax(text);
        assert!(matches!(refused, Err(UrlRefusal::NotUrl(_))), "{text:?}");
    }
}
