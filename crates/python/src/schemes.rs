//! Redundancy schemes in Python files: the class is called with numbers and tuples, and what it returns is turned into
//! those of the model, which checks it.

use crate::errors::DriveError;
use crate::fork::can_be_copied;
use crate::policies::{in_words, line};
use flashkeep::schemes::{
    ForeignCodeword, ForeignCommand, ForeignError, ForeignLoader, ForeignPlace, ForeignScheme, ForeignStep,
    ForeignView, load_schemes_with,
};
use pyo3::exceptions::{PyKeyboardInterrupt, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple};
use std::panic::panic_any;
use std::sync::Mutex;

/// The key that names the file.
const KEY: &str = "redundancy.file";

/// Lets drives name Python files.
pub(crate) fn accept_files() {
    load_schemes_with(ForeignLoader {
        load: |path, members, pages, unit| {
            let text =
                std::fs::read(path).map_err(|error| ForeignError::new(format!("cannot be read: {error}")))?;
            can_be_copied();
            Python::attach(|py| load(py, path, &text, (members, pages, unit)))
        },
        fail: |path, error| panic_any(Python::attach(|py| raised(py, path, error))),
    });
}

/// What the caller of the run gets.
fn raised(py: Python<'_>, path: &str, error: ForeignError) -> PyErr {
    let line = error.line.map_or(String::new(), |line| format!(":{line}"));
    let raised = DriveError::new_err(format!("{path}{line}: {KEY}: {}", error.message));
    let value = raised.value(py);
    let located = value
        .setattr("path", path)
        .and_then(|()| value.setattr("line", error.line))
        .and_then(|()| value.setattr("field", KEY));
    match located {
        Ok(()) => raised,
        Err(other) => other,
    }
}

/// An object of a file's class.
struct PythonScheme {
    object: Py<PyAny>,
    places: Py<PyAny>,
    codewords: Option<Py<PyAny>>,
    plan: Py<PyAny>,
}

/// The class of a file, called with members, pages of each, and pages of a unit.
fn load(
    py: Python<'_>,
    path: &str,
    text: &[u8],
    over: (u8, u64, u32),
) -> Result<Box<dyn ForeignScheme>, ForeignError> {
    let class = class(py, path, text).map_err(|error| told(py, "", &error))?;
    let (members, pages, unit) = over;
    let object = class
        .call1(over)
        .map_err(|error| told(py, &format!("Scheme({members}, {pages}, {unit}): "), &error))?;
    Ok(Box::new(PythonScheme::of(&object)?))
}

fn class<'py>(py: Python<'py>, path: &str, text: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let builtins = py.import("builtins")?;
    let names = PyDict::new(py);
    names.set_item("__name__", "flashkeep_scheme")?;
    names.set_item("__file__", path)?;
    let code = compiled(py, &builtins, path, text)?;
    builtins.getattr("exec")?.call1((code, &names))?;
    match names.get_item("Scheme")? {
        Some(class) if class.is_callable() => Ok(class),
        _ => Err(PyValueError::new_err("it has no class Scheme")),
    }
}

/// The code of a file. That of the last file is kept: a drive loads its file several times.
fn compiled<'py>(
    py: Python<'py>,
    builtins: &Bound<'py, PyModule>,
    path: &str,
    text: &[u8],
) -> PyResult<Bound<'py, PyAny>> {
    type Last = Option<(String, Vec<u8>, Py<PyAny>)>;
    static LAST: Mutex<Last> = Mutex::new(None);
    if let Some((_, _, code)) = LAST
        .lock_py_attached(py)
        .ok()
        .as_deref()
        .and_then(Option::as_ref)
        .filter(|last| last.0 == path && last.1 == text)
    {
        return Ok(code.bind(py).clone());
    }
    let code = builtins.getattr("compile")?.call1((PyBytes::new(py, text), path, "exec"))?;
    if let Ok(mut last) = LAST.lock_py_attached(py) {
        *last = Some((path.into(), text.into(), code.clone().unbind()));
    }
    Ok(code)
}

/// An error of Python: where it was called, what it was, and the line. An interruption ends the run as such.
fn told(py: Python<'_>, called: &str, error: &PyErr) -> ForeignError {
    if error.is_instance_of::<PyKeyboardInterrupt>(py) {
        panic_any(error.clone_ref(py));
    }
    ForeignError { message: format!("{called}{}", in_words(error)), line: line(py, error) }
}

impl PythonScheme {
    fn of(object: &Bound<'_, PyAny>) -> Result<Self, ForeignError> {
        let method = |name: &str, arguments: &str| match object.getattr(name) {
            Ok(method) if method.is_callable() => Ok(method.unbind()),
            _ => Err(ForeignError::new(format!("the class Scheme has no method {name}({arguments})"))),
        };
        Ok(PythonScheme {
            places: method("places", "page")?,
            plan: method("plan", "command, view")?,
            codewords: object.getattr("codewords").ok().map(Bound::unbind),
            object: object.clone().unbind(),
        })
    }

    /// Calls a method and reads its answer. An error names the call.
    fn ask<T>(
        called: impl Fn() -> String,
        call: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyAny>>,
        read: impl FnOnce(&Bound<'_, PyAny>) -> Result<T, String>,
    ) -> Result<T, ForeignError> {
        Python::attach(|py| {
            let answer = call(py).map_err(|error| told(py, &format!("Scheme.{}: ", called()), &error))?;
            read(&answer).map_err(|wrong| ForeignError::new(format!("Scheme.{} {wrong}", called())))
        })
    }
}

/// The value found, for a message.
fn found(value: &Bound<'_, PyAny>) -> String {
    let text = value.repr().map_or_else(|_| "an object".into(), |repr| repr.to_string());
    if text.chars().count() > 120 { text.chars().take(117).chain("...".chars()).collect() } else { text }
}

fn integer(value: &Bound<'_, PyAny>, accepted: &str) -> Result<i64, String> {
    value.extract::<i64>().map_err(|_| format!("returned {}; {accepted} is accepted", found(value)))
}

/// What one iterates over.
fn items<'py>(value: &Bound<'py, PyAny>, accepted: &str) -> Result<Vec<Bound<'py, PyAny>>, String> {
    let items = || value.try_iter()?.collect::<PyResult<Vec<_>>>();
    let wrong = |_| format!("returned {}; {accepted} is accepted", found(value));
    if value.is_instance_of::<PyString>() {
        Err(wrong(PyTypeError::new_err(())))
    } else {
        items().map_err(wrong)
    }
}

const PLACE: &str = "a place (member, page) of two integers";

fn place(value: &Bound<'_, PyAny>) -> Result<ForeignPlace, String> {
    let pair = value.extract::<(i64, i64)>();
    pair.map_err(|_| format!("returned {} in the place of {PLACE}", found(value)))
}

fn places(value: &Bound<'_, PyAny>) -> Result<Vec<ForeignPlace>, String> {
    items(value, "a list of places (member, page)")?.iter().map(place).collect()
}

const CODEWORD: &str = "a list of one Codeword(data, xor) or Codeword(data, xor, rs), or an empty list";

fn codeword(value: &Bound<'_, PyAny>) -> Result<Option<ForeignCodeword>, String> {
    let words = items(value, CODEWORD)?;
    let word = match &words[..] {
        [] => return Ok(None),
        [word] => word,
        _ => return Err(format!("returned {} codewords; {CODEWORD} is accepted", words.len())),
    };
    let parts = items(word, CODEWORD)?;
    let (data, xor, rs) = match &parts[..] {
        [data, xor] => (data, xor, None),
        [data, xor, rs] => (data, xor, (!rs.is_none()).then_some(rs)),
        _ => return Err(format!("returned {}; {CODEWORD} is accepted", found(value))),
    };
    let parities = std::iter::once(xor).chain(rs).map(place).collect::<Result<_, _>>()?;
    Ok(Some(ForeignCodeword { data: places(data)?, parities }))
}

const STAGES: &str = "a list of stages, each a list of steps read(member, page) and write(member, page)";

fn step(value: &Bound<'_, PyAny>) -> Result<ForeignStep, String> {
    let wrong = || {
        format!("returned {} in the place of a step read(member, page) or write(member, page)", found(value))
    };
    let (kind, member, page, count) = match value.extract::<(String, i64, i64, i64)>() {
        Ok(step) => step,
        Err(_) => value.extract::<(String, i64, i64)>().map(|(a, b, c)| (a, b, c, 1)).map_err(|_| wrong())?,
    };
    let writes = match kind.as_str() {
        "read" => false,
        "write" => true,
        _ => return Err(wrong()),
    };
    Ok(ForeignStep { writes, place: (member, page), count })
}

fn stages(value: &Bound<'_, PyAny>) -> Result<Vec<Vec<ForeignStep>>, String> {
    let stage = |stage: &Bound<'_, PyAny>| items(stage, STAGES)?.iter().map(step).collect();
    items(value, STAGES)?.iter().map(stage).collect()
}

impl ForeignScheme for PythonScheme {
    fn capacity(&self) -> Result<i64, ForeignError> {
        PythonScheme::ask(
            || "capacity".into(),
            |py| self.object.bind(py).getattr("capacity"),
            |value| {
                let pages = integer(value, "a number of pages");
                pages.map_err(|wrong| wrong.replacen("returned", "is", 1))
            },
        )
    }

    fn follows_load(&self) -> Result<bool, ForeignError> {
        Python::attach(|py| {
            let Ok(value) = self.object.bind(py).getattr("follows_load") else { return Ok(false) };
            let wrong = |_| {
                ForeignError::new(format!(
                    "Scheme.follows_load is {}; True and False are accepted",
                    found(&value)
                ))
            };
            value.extract::<bool>().map_err(wrong)
        })
    }

    fn places(&self, page: u32) -> Result<Vec<ForeignPlace>, ForeignError> {
        PythonScheme::ask(|| format!("places({page})"), |py| self.places.bind(py).call1((page,)), places)
    }

    fn codeword(&self, page: u32) -> Result<Option<ForeignCodeword>, ForeignError> {
        let Some(codewords) = &self.codewords else { return Ok(None) };
        PythonScheme::ask(|| format!("codewords({page})"), |py| codewords.bind(py).call1((page,)), codeword)
    }

    fn plan(
        &self,
        command: &ForeignCommand,
        view: ForeignView,
    ) -> Result<Vec<Vec<ForeignStep>>, ForeignError> {
        PythonScheme::ask(|| format!("plan({command})"), |py| self.plan_of(py, command, view), stages)
    }

    fn copy(&self) -> Result<Box<dyn ForeignScheme>, ForeignError> {
        Python::attach(|py| {
            let copied =
                py.import("copy").and_then(|copy| copy.call_method1("deepcopy", (self.object.bind(py),)));
            let object = copied.map_err(|error| told(py, "a copy of the object: ", &error))?;
            Ok(Box::new(PythonScheme::of(&object)?) as Box<dyn ForeignScheme>)
        })
    }
}

impl PythonScheme {
    fn plan_of<'py>(
        &self,
        py: Python<'py>,
        command: &ForeignCommand,
        view: ForeignView,
    ) -> PyResult<Bound<'py, PyAny>> {
        let command = Py::new(
            py,
            SchemeCommand {
                verb: PyString::intern(py, command.verb).unbind(),
                pages: PyTuple::new(py, &command.pages)?.unbind(),
                update: command.update,
                old_in_hand: command.old_in_hand,
            },
        )?;
        self.plan.bind(py).call1((command, SchemeView(view)))
    }
}

/// A command to plan.
#[pyclass(frozen, module = "flashkeep.extending", name = "Command")]
pub(crate) struct SchemeCommand {
    /// `"read"`, `"write"` or `"trim"`.
    #[pyo3(get)]
    verb: Py<PyString>,
    /// The scheme's pages, ascending.
    #[pyo3(get)]
    pages: Py<PyTuple>,
    /// Whether it reads the old part of a page that is written in part.
    #[pyo3(get)]
    update: bool,
    /// Whether the old contents of what it writes are at hand: a plan reads them without time.
    #[pyo3(get)]
    old_in_hand: bool,
}

/// What a plan may look at.
#[pyclass(frozen, module = "flashkeep.extending", name = "View")]
pub(crate) struct SchemeView(ForeignView);

#[pymethods]
impl SchemeView {
    /// Whether a member responds.
    fn alive(&self, member: usize) -> PyResult<bool> {
        let wrong = || {
            PyValueError::new_err(format!(
                "view.alive({member}): 0 to {} are accepted",
                self.0.alive.len() - 1
            ))
        };
        self.0.alive.get(member).copied().ok_or_else(wrong)
    }

    /// Whether a member has the current contents of its page.
    fn has(&self, member: i64, page: i64) -> PyResult<bool> {
        Ok(self.place("has", member, page)?.0)
    }

    /// The time until a read of a member's page could start, ns; 0 where nothing is read.
    fn backlog(&self, member: i64, page: i64) -> PyResult<u64> {
        Ok(self.place("backlog", member, page)?.1)
    }

    /// Whether a page of the scheme has contents; others are known zeros.
    fn written(&self, page: i64) -> PyResult<bool> {
        let known = self.0.written.iter().find(|(other, _)| i64::from(*other) == page);
        let wrong = || {
            let message =
                format!("view.written({page}): pages of the command and of its codeword are accepted");
            PyValueError::new_err(message)
        };
        known.map(|&(_, written)| written).ok_or_else(wrong)
    }
}

impl SchemeView {
    fn place(&self, method: &str, member: i64, page: i64) -> PyResult<(bool, u64)> {
        let known =
            self.0.places.iter().find(|place| (i64::from(place.0), i64::from(place.1)) == (member, page));
        let wrong = || {
            let message = format!(
                "view.{method}({member}, {page}): places of the command's pages and of their codeword are accepted"
            );
            PyValueError::new_err(message)
        };
        known.map(|&(_, _, has, backlog)| (has, backlog)).ok_or_else(wrong)
    }
}
