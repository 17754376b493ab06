//! The reference of the command line is what `--help` says, and commands in the prose can be parsed.

use std::{env, fmt::Write, fs};

use clap::{Arg, Command, CommandFactory, Parser, error::ErrorKind};
use pcr99_cli::args::Args;

use crate::markdown::{inline_code, pages, root};

/// Everything below this line is made from the options of the program.
const MARKER: &str =
    "<!-- made from the options of the program; see crates/pcr99-cli/tests/docs/main.rs -->\n";

#[test]
fn the_reference_is_what_help_says() {
    let path = root().join("docs/reference/cli.md");
    let page = fs::read_to_string(&path).expect("the reference");
    let (start, rest) = page.split_once(MARKER).expect("the marker");
    let generated = reference();
    if env::var_os("PCR99_UPDATE").is_some() {
        fs::write(&path, format!("{start}{MARKER}{generated}")).expect("the reference is written");
    } else {
        let differs = rest.lines().zip(generated.lines()).find(|(page, options)| page != options);
        assert!(rest == generated, "options have changed, first at {differs:?}: run with PCR99_UPDATE=1");
    }
}

/// The generated part holds every option of every command, each under its heading.
#[test]
fn the_reference_has_every_option() {
    let text = reference();
    let mut count = 0;
    for command in Args::command().get_subcommands().filter(|c| !c.is_hide_set()) {
        let heading = format!("## `pcr99 {}`", command.get_name());
        let section = text.split_once(&heading).expect("a section").1.split("\n## ").next().expect("text");
        for long in command.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(Arg::get_long) {
            assert!(section.contains(&format!("`--{long}")), "{} --{long}", command.get_name());
            count += 1;
        }
    }
    assert!(count > 80, "{count} options");
}

fn reference() -> String {
    let mut root = Args::command();
    root.build();
    let mut text = String::new();
    for command in root.get_subcommands().filter(|c| !c.is_hide_set()) {
        section(&mut text, &mut command.clone()).expect("text");
    }
    let global = root.get_arguments().filter(|arg| arg.is_global_set());
    writeln!(text, "\n## Options of every command\n").expect("text");
    for arg in global.chain(root.get_arguments().filter(|arg| arg.get_id() == "version")) {
        option(&mut text, arg).expect("text");
    }
    text
}

fn section(text: &mut String, command: &mut Command) -> std::fmt::Result {
    writeln!(text, "\n## `pcr99 {}`\n", command.get_name())?;
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    writeln!(text, "{}\n", with_full_stop(&about))?;
    let usage = command.render_usage().to_string();
    writeln!(text, "```text\n{}\n```\n", usage.trim_end())?;
    let mut heading = None;
    for positional in [true, false] {
        let own = command.get_arguments().filter(|arg| {
            let is_own = !arg.is_global_set() && !["help", "version"].contains(&arg.get_id().as_str());
            is_own && !arg.is_hide_set() && arg.is_positional() == positional
        });
        for arg in own {
            if arg.get_help_heading() != heading {
                heading = arg.get_help_heading();
                writeln!(text, "\n{}:\n", heading.unwrap_or("Further options"))?;
            }
            option(text, arg)?;
        }
    }
    if let Some(after) = command.get_after_long_help().or(command.get_after_help()) {
        let after = after.to_string();
        let (before, examples) = after.split_once("Examples:\n").unwrap_or((&after, ""));
        for paragraph in before.trim().split("\n\n").filter(|paragraph| !paragraph.is_empty()) {
            // A list in columns keeps its lines.
            let (start, end) = if paragraph.contains("\n  ") { ("```text\n", "\n```") } else { ("", "") };
            writeln!(text, "\n{start}{paragraph}{end}")?;
        }
        if !examples.is_empty() {
            writeln!(text, "\nExamples:\n\n```text\n{}\n```", examples.trim_end())?;
        }
    }
    Ok(())
}

/// One line for an argument: its names, its default, its meaning, and the values to choose from.
fn option(text: &mut String, arg: &Arg) -> std::fmt::Result {
    let value = arg.get_value_names().map(|names| names.iter().map(|n| format!("<{n}>")).collect::<String>());
    let value = value.filter(|_| arg.get_action().takes_values()).unwrap_or_default();
    let name = match (arg.get_short(), arg.get_long()) {
        (Some(short), Some(long)) => format!("`-{short}`, `--{long}{}`", spaced(&value)),
        (None, Some(long)) => format!("`--{long}{}`", spaced(&value)),
        _ => format!("`{value}`"),
    };
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let default: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    let default = if default.is_empty() || !arg.get_action().takes_values() {
        String::new()
    } else {
        format!(" Default: `{}`.", default.join(","))
    };
    writeln!(text, "- {name}: {}{default}", with_full_stop(&help.replace('\n', " ")))?;
    let values = arg.get_possible_values();
    for value in
        values.iter().filter(|_| arg.get_action().takes_values()).filter(|value| !value.is_hide_set())
    {
        if let Some(help) = value.get_help() {
            writeln!(text, "  - `{}`: {}", value.get_name(), with_full_stop(&help.to_string()))?;
        }
    }
    let named: Vec<String> =
        values.iter().filter(|v| v.get_help().is_none()).map(|v| format!("`{}`", v.get_name())).collect();
    if !named.is_empty() && arg.get_action().takes_values() {
        writeln!(text, "  - one of {}", named.join(", "))?;
    }
    Ok(())
}

fn spaced(value: &str) -> String {
    if value.is_empty() { String::new() } else { format!(" {value}") }
}

fn with_full_stop(text: &str) -> String {
    let text = text.trim();
    if text.ends_with(['.', ':', '!']) || text.is_empty() { text.to_owned() } else { format!("{text}.") }
}

/// Commands that are quoted in the prose, and examples of `--help`, have options and values that exist.
#[test]
fn commands_in_the_prose_can_be_parsed() {
    let mut commands = Vec::new();
    for page in pages().iter().filter(|page| !page.name.contains("/tests/")) {
        // `pcr99 --voxel` is the name of a method in the comparison with other libraries.
        let is_command = |code: &String| code.starts_with("pcr99 ") && !code.starts_with("pcr99 -");
        let quoted = inline_code(&page.text).into_iter().filter(is_command);
        commands.extend(quoted.map(|code| (page.name.clone(), code)));
    }
    for command in Args::command().get_subcommands() {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let lines = help.lines().map(str::trim).filter(|line| line.starts_with("pcr99 "));
        commands.extend(lines.map(|line| (format!("--help of {}", command.get_name()), line.to_owned())));
    }
    assert!(commands.len() > 30, "{} commands", commands.len());
    for (place, command) in commands.iter().filter(|(_, command)| !command.contains('…')) {
        let command = command.split(" | ").next().unwrap_or_default();
        if let Err(error) = Args::try_parse_from(command.split_whitespace()) {
            let is_cut_short = [
                ErrorKind::MissingRequiredArgument,
                ErrorKind::MissingSubcommand,
                ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand,
                ErrorKind::DisplayHelp,
                ErrorKind::DisplayVersion,
            ];
            // An option may be quoted without its value.
            let lacks_value = error.to_string().contains("a value is required");
            assert!(lacks_value || is_cut_short.contains(&error.kind()), "{place}: `{command}`: {error}");
        }
    }
}
