//! The Python package `yfs`: builds the native module, and runs the package's own tests in a
//! virtual environment with the pinned frameworks that it serves.
//!
//! Without a Python that has `venv`, the test reports that it was skipped, and passes.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use yfs_tests::{command, root};

/// The file in the virtual environment that holds the requirements it was made for.
const INSTALLED: &str = "installed-requirements.txt";

/// The interpreters to try, best first.
const INTERPRETERS: [&str; 2] = ["python3", "python"];

/// The program that checks for what the tests need: deepagents needs Python 3.11.
const PROBE: &str = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))";

#[test]
fn the_package_passes_its_own_tests() {
    let package = root().join("crates/doors/yfs-python");
    let Some(python) = INTERPRETERS.into_iter().find(|python| has_venv(python)) else {
        eprintln!("SKIPPED: no Python 3.11 or newer with venv; the Python package is not tested");
        return;
    };
    let built = package_with(command::shared_library("yfs_python"), &package);
    let python = virtual_env(python, &package.join("requirements-test.txt"));
    let mut tests = Command::new(python);
    tests.args(["-m", "pytest", "-c", "pyproject.toml", "--rootdir", "."]);
    // No bytecode between the sources.
    run(tests.env("PYTHONPATH", built).env("PYTHONDONTWRITEBYTECODE", "1"), &package);
}

fn has_venv(python: &str) -> bool {
    let probe = Command::new(python).args(["-c", PROBE]).output();
    probe.is_ok_and(|output| output.status.success())
}

/// Lays out the package beside its native module, and returns the directory to import from.
fn package_with(module: &Path, package: &Path) -> PathBuf {
    let built = module.with_file_name("yfs-python-package");
    let target = built.join("yfs");
    if target.exists() {
        fs::remove_dir_all(&target).expect("the old package can be removed");
    }
    fs::create_dir_all(&target).expect("the package can be laid out");
    for file in package.join("python/yfs").read_dir().expect("the package has sources") {
        let file = file.expect("the sources can be listed").path();
        if file.is_file() && file.extension().is_none_or(|extension| extension != "so") {
            let copy = target.join(file.file_name().expect("a file has a name"));
            fs::copy(&file, copy).expect("the sources can be copied");
        }
    }
    // A Python module is found by its name.
    fs::copy(module, target.join("_native.abi3.so")).expect("the native module can be copied");
    built
}

/// Returns the interpreter of an environment with the requirements, which is made once.
fn virtual_env(python: &str, requirements: &Path) -> PathBuf {
    let directory = root().join("target/python-venv");
    let interpreter = directory.join("bin/python");
    let wanted = fs::read_to_string(requirements).expect("the requirements can be read");
    let installed = fs::read_to_string(directory.join(INSTALLED)).unwrap_or_default();
    if installed == wanted {
        return interpreter;
    }
    run(Command::new(python).args(["-m", "venv", "--clear"]).arg(&directory), &root());
    let mut pip = Command::new(&interpreter);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]);
    let output = pip.arg(requirements).output().expect("the environment has an interpreter");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "pip cannot install what the tests of the Python package need; is there a network?\n\
         {errors}"
    );
    fs::write(directory.join(INSTALLED), wanted).expect("the environment can be written");
    interpreter
}

fn run(command: &mut Command, directory: &Path) {
    let output = command.current_dir(directory).output();
    let output = output.unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    let [stdout, stderr] =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{command:?} failed:\n{stdout}{stderr}");
    print_figures(&stdout);
}

/// Shows the counts that the tests print.
#[expect(clippy::print_stdout, reason = "figures of a test, shown with --nocapture")]
fn print_figures(stdout: &str) {
    let is_figure = |line: &&str| line.contains("FilesystemBackend") || line.contains(" passed");
    stdout.lines().filter(is_figure).for_each(|line| println!("{line}"));
}
