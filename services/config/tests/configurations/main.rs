//! Whole configurations: what broken ones are answered with, and what good ones mean.

mod any;
mod broken;
mod care;
mod changes;
mod confining;
mod examples;
mod gpus;
mod machine;
mod reading;
mod topology;
mod written;
