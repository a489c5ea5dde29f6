//! `daybook simulate packing`: pods that arrive and never leave.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use daybook_simulate::packing::experiment::Setting;
use daybook_simulate::packing::figures::PackingFigures;
use daybook_simulate::packing::input::{read_nodes, read_pods};
use daybook_simulate::packing::policy::PackingPolicy;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;

use crate::say;

/// Let pods arrive one by one in drawn orders, and say how much of the GPUs a policy gives away before they are full of rests
#[derive(Args)]
pub struct PackingArguments {
    /// The pods: CSV with cpu_milli, memory_mib, num_gpu, gpu_milli and perhaps gpu_spec; gzipped or not
    #[arg(long, value_name = "FILE")]
    pods: PathBuf,
    /// The nodes: CSV with cpu_milli, memory_mib, gpu and model; gzipped or not
    #[arg(long, value_name = "FILE")]
    nodes: PathBuf,
    /// What decides; several separated by commas, or `all`
    #[arg(long, value_name = "POLICY", default_value = "fragmentation", value_parser = parse_policies)]
    policy: PackingPolicies,
    /// What the orders are drawn from: the same seed gives the same orders
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// How many orders of arrival
    #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    orders: u32,
    /// Only the pods that want whole GPUs
    #[arg(long)]
    whole_gpus: bool,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
    /// No progress bar
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Clone)]
struct PackingPolicies(Vec<PackingPolicy>);

fn parse_policies(text: &str) -> Result<PackingPolicies, String> {
    if text == "all" {
        return Ok(PackingPolicies(PackingPolicy::ALL.to_vec()));
    }
    let known = || PackingPolicy::ALL.map(PackingPolicy::word).join(", ");
    let find = |word: &str| {
        let found = PackingPolicy::ALL.into_iter().find(|policy| policy.word() == word);
        found.ok_or_else(|| format!("there is no policy \"{word}\"; there are {}, all", known()))
    };
    text.split(',').map(find).collect::<Result<_, _>>().map(PackingPolicies)
}

pub fn run(arguments: &PackingArguments) -> Result<(), String> {
    let mut pods = read_pods(&arguments.pods).map_err(|error| error.to_string())?;
    let nodes = read_nodes(&arguments.nodes).map_err(|error| error.to_string())?;
    if arguments.whole_gpus {
        pods.retain(|pod| pod.shape.gpus > 0 && pod.shape.share == daybook_plan::fragmentation::WHOLE_GPU);
    }
    let (pod_count, node_count) = (pods.len(), nodes.len());
    let setting = Setting::new(pods, nodes)?;
    let gpus = setting.capacity() / 1_000;
    if !arguments.json {
        say::print(&format!(
            "{pod_count} pods, {} shapes in the usual mix, {node_count} nodes with {gpus} GPUs, {} orders from seed {}",
            setting.mix_len(),
            arguments.orders,
            arguments.seed
        ))?;
        say::print(&format!(
            "{:<14}{:>9}{:>11}{:>11}{:>11}{:>11}{:>10}{:>12}",
            "policy", "arrived", "allocated", "least", "most", "deviation", "pods lost", "time"
        ))?;
    }
    for policy in &arguments.policy.0 {
        let (figures, took) = figures(arguments, &setting, *policy)?;
        if arguments.json {
            print_json(arguments, &setting, *policy, &figures, took)?;
        } else {
            print_lines(*policy, &figures, took)?;
        }
    }
    Ok(())
}

fn figures(
    arguments: &PackingArguments,
    setting: &Setting,
    policy: PackingPolicy,
) -> Result<(PackingFigures, Duration), String> {
    let target =
        if arguments.quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(5) };
    let bar = ProgressBar::with_draw_target(Some(u64::from(arguments.orders) * 1_000), target);
    let style = "{msg:14} {wide_bar} {percent} %, {eta} left";
    bar.set_style(ProgressStyle::with_template(style).map_err(|error| error.to_string())?);
    bar.set_message(policy.word());
    bar.enable_steady_tick(Duration::from_millis(200));
    let begin = Instant::now();
    let outcomes: Vec<_> = (0..arguments.orders)
        .map(|order| {
            let seed = arguments.seed.wrapping_add(u64::from(order));
            setting.run(policy, seed, &mut |arrived, of| {
                bar.set_position(u64::from(order) * 1_000 + (arrived * 1_000 / of.max(1)) as u64);
            })
        })
        .collect();
    bar.finish_and_clear();
    Ok((PackingFigures::of(&outcomes, setting.capacity()), begin.elapsed()))
}

fn print_lines(policy: PackingPolicy, figures: &PackingFigures, took: Duration) -> Result<(), String> {
    let mut first = Some((policy.word(), format!("{:.1}", figures.lost), format!("{} ms", took.as_millis())));
    for at in &figures.allocated {
        let (word, lost, took) = first.take().unwrap_or_default();
        let arrived = format!("{} %", at.arrived_percent);
        let line = format!(
            "{word:<14}{arrived:>9}{:>10.2}%{:>10.2}%{:>10.2}%{:>11.2}{lost:>10}{took:>12}",
            at.mean, at.min, at.max, at.deviation
        );
        say::print(line.trim_end())?;
    }
    Ok(())
}

fn print_json(
    arguments: &PackingArguments,
    setting: &Setting,
    policy: PackingPolicy,
    figures: &PackingFigures,
    took: Duration,
) -> Result<(), String> {
    let mut line = json!({
        "policy": policy.word(),
        "seed": arguments.seed,
        "gpus": setting.capacity() / 1_000,
        "mix_shapes": setting.mix_len(),
        "milliseconds": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    });
    let figures = serde_json::to_value(figures).map_err(|error| error.to_string())?;
    if let (Some(line), Some(figures)) = (line.as_object_mut(), figures.as_object()) {
        line.extend(figures.clone());
    }
    say::print(&line.to_string())
}
