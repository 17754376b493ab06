//! Draws the times of all methods from the committed table: `cargo run -p pcr99-report --example times -- TABLE.csv PICTURE.svg`.

use std::{env, error::Error, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let [table, picture] = [1, 2].map(|place| env::args_os().nth(place));
    let (table, picture) = table.zip(picture).ok_or("name the table and the picture")?;
    let svg = pcr99_report::time_picture(&fs::read_to_string(table)?).ok_or("this is no table of times")?;
    fs::write(picture, svg)?;
    Ok(())
}
