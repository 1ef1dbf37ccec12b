//! The live view of an agent at work: events become lines, lines become rows of a terminal, and people answer in place.

mod answer;
mod call;
mod diff;
mod ending;
mod event;
mod feed;
mod follow;
mod line;
mod pages;
mod person;
mod prompt;
mod request;
mod screen;
mod subject;
mod text;
mod view;

pub use follow::{Answers, Follow, Interrupt, NEEDS_ANSWER, Output, can_ask};
pub use line::Tone;
pub use pages::all_pages;
pub use person::Person;
pub use screen::{Screen, choose_colour};
pub use view::Detail;
