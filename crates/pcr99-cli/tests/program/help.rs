//! Help, colour and completions. The texts themselves are in `tests/cmd`.

use super::place::Place;

#[test]
fn without_a_command_the_help_says_what_there_is() {
    let ran = Place::new().run("").with_status(2);
    assert_eq!(ran.out, "");
    for word in [
        "demo",
        "solve",
        "register",
        "simulate",
        "convert",
        "info",
        "apply",
        "bench",
        "batch",
        "assemble",
        "graph",
        "page",
        "completions",
        "help",
        "Usage: pcr99",
    ] {
        assert!(ran.err.contains(word), "{word}");
    }
}

#[test]
fn every_option_is_explained_within_the_width_of_a_terminal() {
    let place = Place::new();
    for command in [
        "",
        "demo",
        "solve",
        "register",
        "simulate",
        "convert",
        "info",
        "apply",
        "bench",
        "batch",
        "assemble",
        "graph",
        "page",
        "completions",
        "help",
    ] {
        let ran = place.run(&format!("{command} --help")).with_status(0);
        assert_eq!(ran.err, "");
        for line in ran.out.lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
    }
}

/// `help` prints what `--help` prints, and has a help of its own.
#[test]
fn help_is_a_command() {
    let place = Place::new();
    for command in ["", "solve", "batch", "help"] {
        let by_option = place.run(&format!("{command} --help")).with_status(0);
        let by_command = place.run(&format!("help {command}")).with_status(0);
        assert_eq!((by_command.out, by_command.err), (by_option.out, String::new()), "{command}");
    }
    place.run("help slove").refused(&["there is no command `slove`", "demo, solve, register"]);
}

#[test]
fn no_color_is_honoured() {
    let place = Place::new();
    let run = |no_color: Option<&str>| {
        let mut command = place.command("solve");
        command.env("CLICOLOR_FORCE", "1").envs(no_color.map(|value| ("NO_COLOR", value)));
        String::from_utf8(command.output().expect("a run").stderr).expect("UTF-8")
    };
    assert!(run(None).contains('\u{1b}'), "colour when forced");
    assert!(!run(Some("1")).contains('\u{1b}'));
    assert!(!place.run("solve").err.contains('\u{1b}'), "none into a pipe");
}

#[test]
fn completions_for_every_shell() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ran = place.run(&format!("completions {shell}")).with_status(0);
        assert_eq!(ran.err, "", "{shell}");
        for word in ["pcr99", "solve", "simulate", "demo", "threshold", "paper-random"] {
            // Elvish and PowerShell complete options, but not the values of options.
            let values = !matches!(shell, "powershell" | "elvish");
            assert!(ran.out.contains(word) || (word == "paper-random" && !values), "{shell}: {word}");
        }
    }
}
