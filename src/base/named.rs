//! Enumerations whose values have names, as in the contract, in stores and in metrics.

/// Declares an enumeration that derives `Copy`, with a name for each value.
///
/// The enumeration gets `ALL`, `NAMES`, `as_str` and `parse`. Attributes and comments are kept.
///
/// ```
/// toise_base::named! {
///     /// Kind of home.
///     #[derive(Clone, Copy, Debug, PartialEq, Eq)]
///     pub enum Home {
///         /// A flat.
///         Flat = "flat",
///         /// A house.
///         House = "house",
///     }
/// }
///
/// assert_eq!(Home::ALL, [Home::Flat, Home::House]);
/// assert_eq!(Home::NAMES, ["flat", "house"]);
/// assert_eq!(Home::House.as_str(), "house");
/// assert_eq!(Home::parse("flat"), Some(Home::Flat));
/// assert_eq!(Home::parse("Flat"), None);
/// ```
#[macro_export]
macro_rules! named {
    (
        $(#[$about:meta])*
        $vis:vis enum $enum:ident {
            $($(#[$note:meta])* $value:ident = $name:literal),+ $(,)?
        }
    ) => {
        $(#[$about])*
        $vis enum $enum {
            $($(#[$note])* $value),+
        }

        #[allow(dead_code, reason = "not every enumeration needs all of these")]
        impl $enum {
            /// All values, in the order of their declaration.
            $vis const ALL: [Self; [$($name),+].len()] = [$(Self::$value),+];

            /// The names of all values, in the same order.
            $vis const NAMES: [&'static str; [$($name),+].len()] = [$($name),+];

            /// Returns the name of the value.
            $vis const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $name),+
                }
            }

            /// Returns the value with a name; `None` for an unknown name.
            $vis fn parse(name: &str) -> Option<Self> {
                match name {
                    $($name => Option::Some(Self::$value),)+
                    _ => Option::None,
                }
            }
        }
    };
}
