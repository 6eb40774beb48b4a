//! Declarations of reported figures: fields of the structs that carry them to the report.
//!
//! [`figures!`](crate::figures!) declares such a struct. A field's name is its key in the summary, its doc
//! comment is the figure's description, its type gives the values, and the expression after `=>` gives the
//! unit, the label and the better direction. The summary's JSON, the tables, the documentation and the types
//! of the Python package all follow from these declarations.

use serde_json::{Value, json};
use std::borrow::Cow;

/// Which direction of a figure is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Better {
    /// Neither: the figure only describes.
    #[default]
    Neither,
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
}

/// Whether a figure is a row of the printed tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TableRow {
    /// It is only in the summary.
    #[default]
    No,
    /// It is a row if its value is not zero.
    UnlessZero,
    /// It is a row even if its value is zero.
    Always,
}

/// The properties of a figure, or of a group of figures, besides its name, type and description.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figure {
    /// Its unit; empty for text, flags and groups.
    pub unit: &'static str,
    /// Its label in tables; empty to use its key. In a group that occurs more than once, `{}` represents the label of
    /// the group. Two spaces in front indent a row below the one before it.
    pub label: &'static str,
    /// Which direction is better.
    pub better: Better,
    /// Whether tables show it.
    pub row: TableRow,
    /// Whether tables show only the rows of this group that are not indented.
    pub brief: bool,
    /// The heading of the table section to which the rows of a group belong.
    pub heading: &'static str,
    /// Whether the digest leaves it out, because it follows from other figures or from the drive file alone.
    pub derived: bool,
    /// The stable name, if the path has changed since the figure was first reported; otherwise empty.
    pub id: &'static str,
}

/// A figure in this unit.
#[must_use]
pub const fn unit(unit: &'static str) -> Figure {
    let (label, heading, id) = ("", "", "");
    Figure {
        unit,
        label,
        better: Better::Neither,
        row: TableRow::No,
        brief: false,
        heading,
        derived: false,
        id,
    }
}

/// Text, a flag, or a group of figures.
#[must_use]
pub const fn plain() -> Figure {
    unit("")
}

impl Figure {
    /// Less is better.
    #[must_use]
    pub const fn lower(mut self) -> Figure {
        self.better = Better::Lower;
        self
    }

    /// More is better.
    #[must_use]
    pub const fn higher(mut self) -> Figure {
        self.better = Better::Higher;
        self
    }

    /// Its label if it is not a row of a table, or the label of a group.
    #[must_use]
    pub const fn label(mut self, label: &'static str) -> Figure {
        self.label = label;
        self
    }

    /// Tables show it under this label, unless it is zero.
    #[must_use]
    pub const fn row(mut self, label: &'static str) -> Figure {
        (self.label, self.row) = (label, TableRow::UnlessZero);
        self
    }

    /// Tables show it under this label, zero or not.
    #[must_use]
    pub const fn row_always(mut self, label: &'static str) -> Figure {
        (self.label, self.row) = (label, TableRow::Always);
        self
    }

    /// Tables leave out the indented rows of this group.
    #[must_use]
    pub const fn brief(mut self) -> Figure {
        self.brief = true;
        self
    }

    /// Puts the rows of this group under this heading.
    #[must_use]
    pub const fn heading(mut self, heading: &'static str) -> Figure {
        self.heading = heading;
        self
    }

    /// The digest leaves it out.
    #[must_use]
    pub const fn derived(mut self) -> Figure {
        self.derived = true;
        self
    }

    /// Its path before it was changed.
    #[must_use]
    pub const fn id(mut self, id: &'static str) -> Figure {
        self.id = id;
        self
    }
}

/// The type of a figure's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureKind {
    /// A whole number.
    Count,
    /// A number.
    Number,
    /// True or false.
    Flag,
    /// Text.
    Text,
    /// Any JSON: the resolved drive.
    Open,
}

/// The shape of a value in the summary.
#[derive(Clone, Debug)]
pub enum FigureShape {
    /// One figure.
    Figure(FigureKind),
    /// Named figures.
    Group(Group),
    /// A list.
    List(Box<FigureShape>),
    /// A value that may be null.
    Nullable(Box<FigureShape>),
    /// A value that runs leave out if it does not apply.
    Optional(Box<FigureShape>),
}

impl FigureShape {
    /// The same, but left out by runs to which it does not apply.
    #[must_use]
    pub fn optional(self) -> FigureShape {
        FigureShape::Optional(Box::new(self))
    }
}

/// A group of figures.
#[derive(Clone, Debug)]
pub struct Group {
    /// The name of its type in the Python package.
    pub name: &'static str,
    /// Its description, in a sentence.
    pub about: &'static str,
    /// The keys, in order.
    pub entries: Vec<FigureEntry>,
}

/// A key of a group.
#[derive(Clone, Debug)]
pub struct FigureEntry {
    /// The key.
    pub name: Cow<'static, str>,
    /// Its description, in a sentence.
    pub about: Cow<'static, str>,
    /// Its other properties.
    pub figure: Figure,
    /// The shape of its value.
    pub shape: FigureShape,
}

/// A value that the summary can hold.
pub trait Reported {
    /// Its value; none if the key is left out.
    fn told(&self) -> Option<Value>;

    /// The shape of its values.
    fn shape() -> FigureShape;

    /// Its value; null if its key would be left out.
    fn to_json(&self) -> Value {
        self.told().unwrap_or_default()
    }
}

macro_rules! single {
    ($($type:ty => $kind:ident),*) => {$(
        impl Reported for $type {
            fn told(&self) -> Option<Value> {
                Some(json!(self))
            }

            fn shape() -> FigureShape {
                FigureShape::Figure(FigureKind::$kind)
            }
        }
    )*};
}

single!(
    u64 => Count, u32 => Count, usize => Count, f64 => Number, bool => Flag, String => Text, &'static str => Text,
    Value => Open
);

impl<T: Reported> Reported for Option<T> {
    fn told(&self) -> Option<Value> {
        self.as_ref().map_or(Some(Value::Null), Reported::told)
    }

    fn shape() -> FigureShape {
        FigureShape::Nullable(Box::new(T::shape()))
    }
}

impl<T: Reported> Reported for Vec<T> {
    fn told(&self) -> Option<Value> {
        Some(self.iter().filter_map(Reported::told).collect())
    }

    fn shape() -> FigureShape {
        FigureShape::List(Box::new(T::shape()))
    }
}

/// A figure or group that only some runs have; other runs leave out its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IfAny<T>(pub Option<T>);

impl<T: Reported> Reported for IfAny<T> {
    fn told(&self) -> Option<Value> {
        self.0.as_ref().and_then(Reported::told)
    }

    fn shape() -> FigureShape {
        T::shape().optional()
    }
}

/// Declares a struct of reported figures, or (`impl`) the figures of an existing struct. See
/// [`figures`](mod@crate::figures).
#[macro_export]
macro_rules! figures {
    (
        $(#[doc = $about:literal])+
        $vis:vis struct $name:ident {
            $( $(#[doc = $text:literal])+ $field:ident: $type:ty => $figure:expr, )*
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $name {
            $( $(#[doc = $text])+ $vis $field: $type, )*
        }

        $crate::figures! {
            $(#[doc = $about])+
            impl $name {
                $( $(#[doc = $text])+ $field: $type => $figure, )*
            }
        }
    };
    (
        $(#[doc = $about:literal])+
        impl $name:ident {
            $( $(#[doc = $text:literal])+ $field:ident: $type:ty => $figure:expr, )*
        }
    ) => {
        impl $crate::figures::Reported for $name {
            fn told(&self) -> Option<serde_json::Value> {
                let mut told = serde_json::Map::new();
                $( if let Some(value) = $crate::figures::Reported::told(&self.$field) {
                    told.insert(stringify!($field).to_owned(), value);
                } )*
                Some(serde_json::Value::Object(told))
            }

            fn shape() -> $crate::figures::FigureShape {
                let entries = vec![ $( $crate::figures::FigureEntry {
                    name: stringify!($field).into(),
                    about: concat!($($text),+).trim().into(),
                    figure: $figure,
                    shape: <$type as $crate::figures::Reported>::shape(),
                }, )* ];
                let about = concat!($($about),+).trim();
                $crate::figures::FigureShape::Group($crate::figures::Group { name: stringify!($name), about, entries })
            }
        }
    };
}
