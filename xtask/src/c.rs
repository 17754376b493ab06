//! The library for C and C++: installation, and tests of the installed library.

use std::{
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail, ensure};

use crate::{
    browser::{apt, is_root, runs},
    cargo,
    python::{call, target_directory},
    root,
};

/// Debian packages that the tests need: a compiler of C++, CMake, and Eigen for an example.
const PACKAGES: [&str; 3] = ["g++", "cmake", "libeigen3-dev"];

/// Version of the workspace.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How the library is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Profile {
    Dev,
    Release,
}

/// Installs the library: `--prefix DIRECTORY`.
pub(crate) fn install(arguments: &[String]) -> Result<()> {
    let [flag, prefix] = arguments else { bail!("usage: cargo xtask install-c --prefix DIRECTORY") };
    ensure!(flag == "--prefix", "usage: cargo xtask install-c --prefix DIRECTORY");
    let prefix = std::path::absolute(prefix)?;
    install_to(&prefix, Profile::Release)?;
    eprintln!(
        "\ninstalled in `{0}`: with CMake, add -DCMAKE_PREFIX_PATH={0}; with pkg-config, set PKG_CONFIG_PATH={0}/lib/pkgconfig",
        prefix.display()
    );
    Ok(())
}

/// Names of the shared library: the file, and links to it.
fn shared_names() -> (String, Vec<String>) {
    let major = VERSION.split('.').next().unwrap_or(VERSION);
    if cfg!(target_os = "macos") {
        ("libpcr99.dylib".to_owned(), Vec::new())
    } else {
        (format!("libpcr99.so.{VERSION}"), vec![format!("libpcr99.so.{major}"), "libpcr99.so".to_owned()])
    }
}

fn install_to(prefix: &Path, profile: Profile) -> Result<()> {
    ensure!(cfg!(unix), "the library for C is installed on Linux and macOS only");
    // The tests take what the other tests have built, with the same features.
    let flags: &[&str] = match profile {
        Profile::Release => &["-p", "pcr99-c", "--release"],
        Profile::Dev => &["--workspace", "--all-features"],
    };
    cargo(&[&["build"], flags].concat(), &[])?;
    let built = target_directory()?.join(if profile == Profile::Release { "release" } else { "debug" });
    let source = root()?.join("crates/pcr99-c");
    let [include, library, package, config] =
        ["include", "lib", "lib/pkgconfig", "lib/cmake/pcr99"].map(|place| prefix.join(place));
    for directory in [&include, &library, &package, &config] {
        fs::create_dir_all(directory).with_context(|| format!("cannot make `{}`", directory.display()))?;
    }
    for header in ["pcr99.h", "pcr99.hpp"] {
        copy(&source.join("include").join(header), &include.join(header))?;
    }
    let (file, links) = shared_names();
    let ending = Path::new(&file).extension().filter(|&e| e == "dylib").unwrap_or(OsStr::new("so"));
    copy(&built.join("libpcr99_c").with_extension(ending), &library.join(&file))?;
    for link in &links {
        let place = library.join(link);
        if place.symlink_metadata().is_ok() {
            fs::remove_file(&place)?;
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(&file, &place).with_context(|| place.display().to_string())?;
    }
    copy(&built.join("libpcr99_c.a"), &library.join("libpcr99.a"))?;
    if profile == Profile::Release {
        // Without `strip`, the library is larger and works as well.
        let stripped = runs("strip", &["--version"])
            && runs("strip", &["--strip-unneeded", &library.join(&file).to_string_lossy()]);
        if !stripped {
            eprintln!("note: `strip` is not installed; the shared library keeps its symbols");
        }
    }
    let mut numbers = VERSION.split('.');
    let (major, minor) = (numbers.next().unwrap_or("0"), numbers.next().unwrap_or("0"));
    let values = [
        ("@SHARED@", file.as_str()),
        ("@VERSION@", VERSION),
        ("@MAJOR@", major),
        ("@MINOR@", minor),
        ("@PREFIX@", &prefix.to_string_lossy()),
    ];
    for (name, place) in
        [("pcr99-config.cmake", &config), ("pcr99-config-version.cmake", &config), ("pcr99.pc", &package)]
    {
        let text = fs::read_to_string(source.join("cmake").join(name))?;
        let text = values.iter().fold(text, |text, (mark, value)| text.replace(mark, value));
        fs::write(place.join(name), text).with_context(|| place.join(name).display().to_string())?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).with_context(|| format!("cannot copy `{}` to `{}`", from.display(), to.display()))?;
    Ok(())
}

/// Installs the library in a directory of its own, builds the examples with CMake and runs them, compares results with those of the program to the bit, and
/// looks for mistakes with memory.
pub(crate) fn test() -> Result<()> {
    if let Err(error) = make_sure_of_tools() {
        if env::var("CI").as_deref() == Ok("true") {
            return Err(error);
        }
        eprintln!("\nwarning: the library for C and C++ is NOT tested: {error:#}");
        return Ok(());
    }
    let work = target_directory()?.join("c");
    if work.exists() {
        fs::remove_dir_all(&work)?;
    }
    let prefix = work.join("installed");
    install_to(&prefix, Profile::Dev)?;
    examples(&work, &prefix)?;
    let source = root()?.join("crates/pcr99-c/tests/checks.cpp");
    let checks = compiled(&work, &prefix, &source, &[])?;
    eprintln!("\n── C++ checks ──");
    run(&checks, &prefix, &work)?;
    same_bits(&checks, &prefix, &work)?;
    documentation(&work, &prefix)?;
    sanitized(&work, &prefix, &source)?;
    if runs("valgrind", &["--version"]) {
        let mut command = Command::new("valgrind");
        command.args([
            "--quiet",
            "--track-origins=yes",
            "--error-exitcode=9",
            "--leak-check=full",
            "--show-leak-kinds=definite",
            "--errors-for-leak-kinds=definite",
        ]);
        command
            .arg(work.join("examples/matches"))
            .env("LD_LIBRARY_PATH", prefix.join("lib"))
            .stdout(Stdio::null());
        call(&mut command).context("memory errors in the example in C")?;
    }
    Ok(())
}

fn make_sure_of_tools() -> Result<()> {
    let eigen = || {
        ["/usr/include/eigen3", "/usr/local/include/eigen3", "/opt/homebrew/include/eigen3"]
            .iter()
            .any(|place| Path::new(place).exists())
    };
    let works = || runs("c++", &["--version"]) && runs("cmake", &["--version"]) && eigen();
    if works() {
        return Ok(());
    }
    if is_root() && runs("apt-get", &["--version"]) {
        eprintln!("\n── installing {}, for the tests of the library for C++ ──", PACKAGES.join(", "));
        let install = [&["install", "-y", "--no-install-recommends"], &PACKAGES[..]].concat();
        // The list of packages may be missing or old.
        let installed = apt(&install) || (apt(&["update"]) && apt(&install));
        if installed && works() {
            return Ok(());
        }
    }
    bail!(
        "a compiler of C++, CMake and Eigen are needed: on Debian, `apt-get install {}`",
        PACKAGES.join(" ")
    )
}

/// Builds the examples as a user would, and runs them.
fn examples(work: &Path, prefix: &Path) -> Result<()> {
    let build = work.join("examples");
    eprintln!("\n── CMake: examples of the library for C and C++ ──");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(root()?.join("crates/pcr99-c/examples")).arg("-B").arg(&build);
    configure.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display())).stdout(Stdio::null());
    call(&mut configure)?;
    call(Command::new("cmake").arg("--build").arg(&build).stdout(Stdio::null()))?;
    call(Command::new("ctest").args(["--output-on-failure", "--test-dir"]).arg(&build))
}

/// Runs the programs in the documentation.
fn documentation(work: &Path, prefix: &Path) -> Result<()> {
    for name in ["c-and-cpp", "see-why"] {
        let page = fs::read_to_string(root()?.join(format!("docs/how-to/{name}.md")))?;
        let programs: Vec<&str> =
            page.split("\n```cpp\n").skip(1).filter_map(|rest| rest.split("\n```").next()).collect();
        ensure!(!programs.is_empty(), "the page `{name}` has no program in C++");
        for (k, text) in programs.into_iter().enumerate() {
            let source = work.join(format!("{name}{k}.cpp"));
            fs::write(&source, text)?;
            run(&compiled(work, prefix, &source, &[])?, prefix, work)
                .with_context(|| format!("a program of docs/how-to/{name}.md"))?;
        }
    }
    Ok(())
}

/// Compiles a program against the installed library, as pkg-config would.
fn compiled(work: &Path, prefix: &Path, source: &Path, flags: &[&str]) -> Result<PathBuf> {
    let name = source.file_stem().unwrap_or_default().to_string_lossy();
    let program = work.join(format!("{name}{}", flags.concat().replace(['=', '-', ','], "")));
    let mut command = Command::new("c++");
    command.args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-O1", "-g"]).args(flags);
    command.arg("-I").arg(prefix.join("include")).args(["-isystem", "/usr/include/eigen3"]);
    command.arg(source);
    command.arg("-L").arg(prefix.join("lib")).args(["-lpcr99", "-lpthread", "-o"]).arg(&program);
    call(&mut command)?;
    Ok(program)
}

fn run(program: &Path, prefix: &Path, work: &Path) -> Result<()> {
    call(
        Command::new(program)
            .arg(work)
            .env("LD_LIBRARY_PATH", prefix.join("lib"))
            .env("DYLD_LIBRARY_PATH", prefix.join("lib")),
    )
}

/// The checks wrote matches and their document: the program says the same of them.
fn same_bits(checks: &Path, prefix: &Path, work: &Path) -> Result<()> {
    run(checks, prefix, work)?;
    let document = |text: &str| -> Result<serde_json::Value> {
        let mut value: serde_json::Value = serde_json::from_str(text)?;
        let fields = value.as_object_mut().context("a document")?;
        fields.remove("seconds");
        fields.remove("inputs");
        Ok(value)
    };
    for (input, options) in
        [("matches.csv", &["--scale", "unknown"][..]), ("matches.csv", &["--threshold", "0.05"][..])]
    {
        let name = if options[0] == "--scale" { "unknown.json" } else { "known.json" };
        let ours = fs::read_to_string(work.join(name)).context("the checks wrote no document")?;
        let mut command = Command::new(target_directory()?.join("debug/pcr99"));
        command.arg("solve").arg(work.join(input)).args(options).arg("--json");
        let output = command.stderr(Stdio::inherit()).output().context("cannot start the program")?;
        let theirs = String::from_utf8(output.stdout)?;
        ensure!(
            document(&ours)? == document(&theirs)?,
            "C++ and the program differ: `{}` and\n{theirs}",
            work.join(name).display()
        );
    }
    Ok(())
}

/// Runs the checks with the sanitizers of the compiler, where they are installed.
fn sanitized(work: &Path, prefix: &Path, source: &Path) -> Result<()> {
    let flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    match compiled(work, prefix, source, &flags) {
        Ok(program) => run(&program, prefix, work).context("AddressSanitizer"),
        Err(_) => {
            eprintln!("note: the sanitizers of the compiler are not installed");
            Ok(())
        }
    }
}
