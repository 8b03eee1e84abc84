# Formula of one release; packaging/release_files.py fills in the version, the addresses and the checksums.
class Toise < Formula
  desc "Open engine for French property data"
  homepage "@HOMEPAGE@"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "@URL aarch64-apple-darwin@"
      sha256 "@SHA256 aarch64-apple-darwin@"
    end
    on_intel do
      url "@URL x86_64-apple-darwin@"
      sha256 "@SHA256 x86_64-apple-darwin@"
    end
  end

  on_linux do
    on_arm do
      url "@URL aarch64-unknown-linux-gnu@"
      sha256 "@SHA256 aarch64-unknown-linux-gnu@"
    end
    on_intel do
      url "@URL x86_64-unknown-linux-gnu@"
      sha256 "@SHA256 x86_64-unknown-linux-gnu@"
    end
  end

  def install
    bin.install "toise"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/toise.bash" => "toise"
    zsh_completion.install "completions/_toise"
    fish_completion.install "completions/toise.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/toise version")
  end
end
