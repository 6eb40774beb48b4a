//! Declarations of reported figures: fields of the structs that carry them to the report.
//!
//! [`figures!`](crate::figures!) declares such a struct. A field's name is its key in the summary, its doc
//! comment is the figure's description, its type gives the values, and the expression behind `=>` gives the
//! unit, the label and the better direction. The summary's JSON, the tables, the documentation and the types
//! of the Python package all follow from these declarations.

use serde_json::{Value, json};
use std::borrow::Cow;

/// Which way a figure is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Better {
    /// It describes; neither more nor less is better.
    #[default]
    Neither,
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
}

/// Whether a figure is a row of the tables that people read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Row {
    /// It is in the summary only.
    #[default]
    No,
    /// It is a row where its value is not zero.
    UnlessZero,
    /// It is a row even where it is zero.
    Always,
}

/// What a declaration says about a figure, or about a group of figures, besides its name, type and description.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figure {
    /// Its unit; empty for text, flags and groups.
    pub unit: &'static str,
    /// What tables call it; its key where this is empty. In a group that occurs more than once, `{}` stands for the
    /// label of the group. Two spaces in front indent a row below the one before it.
    pub label: &'static str,
    /// Which way is better.
    pub better: Better,
    /// Whether tables show it.
    pub row: Row,
    /// Whether tables show only the rows of this group that are not indented.
    pub brief: bool,
    /// The heading of the tables' section that a group begins or continues.
    pub heading: &'static str,
    /// Whether the digest leaves it out: what follows from other figures, or from the drive file alone.
    pub derived: bool,
    /// The stable name where the path has changed since the figure was first reported; empty where it has not.
    pub id: &'static str,
}

/// A figure in this unit.
#[must_use]
pub const fn unit(unit: &'static str) -> Figure {
    let (label, heading, id) = ("", "", "");
    Figure { unit, label, better: Better::Neither, row: Row::No, brief: false, heading, derived: false, id }
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

    /// What it is called where it is no row of a table, or what the rows of a group are about.
    #[must_use]
    pub const fn label(mut self, label: &'static str) -> Figure {
        self.label = label;
        self
    }

    /// Tables show it under this label, unless it is zero.
    #[must_use]
    pub const fn row(mut self, label: &'static str) -> Figure {
        (self.label, self.row) = (label, Row::UnlessZero);
        self
    }

    /// Tables show it under this label, zero or not.
    #[must_use]
    pub const fn row_always(mut self, label: &'static str) -> Figure {
        (self.label, self.row) = (label, Row::Always);
        self
    }

    /// Tables leave out the indented rows of this group.
    #[must_use]
    pub const fn brief(mut self) -> Figure {
        self.brief = true;
        self
    }

    /// The rows of this group stand under this heading.
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

    /// Its name before its path changed.
    #[must_use]
    pub const fn id(mut self, id: &'static str) -> Figure {
        self.id = id;
        self
    }
}

/// What values a figure has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number.
    Count,
    /// A number.
    Number,
    /// True or false.
    Flag,
    /// Words.
    Text,
    /// Anything: the drive as it was resolved.
    Open,
}

/// What stands behind a key of the summary.
#[derive(Clone, Debug)]
pub enum Shape {
    /// One figure.
    Figure(Kind),
    /// Figures under names of their own.
    Group(Group),
    /// Any number of them.
    List(Box<Shape>),
    /// One that may have no value: null.
    Nullable(Box<Shape>),
    /// One that is left out where the run has no such thing.
    Optional(Box<Shape>),
}

impl Shape {
    /// The same, left out by runs that have no such thing.
    #[must_use]
    pub fn optional(self) -> Shape {
        Shape::Optional(Box::new(self))
    }
}

/// Figures that stand together.
#[derive(Clone, Debug)]
pub struct Group {
    /// What the Python package calls its type.
    pub name: &'static str,
    /// What it holds, in a sentence.
    pub about: &'static str,
    /// The keys, in order.
    pub entries: Vec<Entry>,
}

/// A key of a group.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub name: Cow<'static, str>,
    /// What it says, in a sentence.
    pub about: Cow<'static, str>,
    /// What its declaration says besides.
    pub figure: Figure,
    /// What stands there.
    pub shape: Shape,
}

/// What can stand in the summary.
pub trait Reported {
    /// Its value; none where the key is left out.
    fn told(&self) -> Option<Value>;

    /// What its values look like.
    fn shape() -> Shape;

    /// Its value; null where its key would be left out.
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

            fn shape() -> Shape {
                Shape::Figure(Kind::$kind)
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

    fn shape() -> Shape {
        Shape::Nullable(Box::new(T::shape()))
    }
}

impl<T: Reported> Reported for Vec<T> {
    fn told(&self) -> Option<Value> {
        Some(self.iter().filter_map(Reported::told).collect())
    }

    fn shape() -> Shape {
        Shape::List(Box::new(T::shape()))
    }
}

/// A figure or group that only some runs have; the others leave out its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IfAny<T>(pub Option<T>);

impl<T: Reported> Reported for IfAny<T> {
    fn told(&self) -> Option<Value> {
        self.0.as_ref().and_then(Reported::told)
    }

    fn shape() -> Shape {
        T::shape().optional()
    }
}

/// Declares a struct of reported figures, or (`impl`) the figures that a struct has already. See
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

            fn shape() -> $crate::figures::Shape {
                let entries = vec![ $( $crate::figures::Entry {
                    name: stringify!($field).into(),
                    about: concat!($($text),+).trim().into(),
                    figure: $figure,
                    shape: <$type as $crate::figures::Reported>::shape(),
                }, )* ];
                let about = concat!($($about),+).trim();
                $crate::figures::Shape::Group($crate::figures::Group { name: stringify!($name), about, entries })
            }
        }
    };
}
