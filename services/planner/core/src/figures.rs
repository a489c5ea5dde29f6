//! The figures that stand beside a changed reason.

use daybook_schemas::events::{MinuteFigures, NodeFigures, ReasonFigures, ResourceFigures, TaskFigures};
use daybook_schemas::job::Reason;

use crate::explain::{nodes_asked, nodes_most};
use crate::plan::Planning;
use crate::queue::Turn;

impl<'a> Planning<'a, '_> {
    /// What is asked and what there is, of reasons that are about figures.
    pub(crate) fn figures_of(&mut self, turn: Turn<'a>, reason: Reason) -> Option<ReasonFigures> {
        let job = turn.job;
        Some(match reason {
            Reason::PartitionTimeLimit => ReasonFigures::Minutes(MinuteFigures {
                asked: self.limit_of(turn).whole_minutes(),
                most: self.cluster.partition(turn.partition)?.max_time.whole_minutes(),
            }),
            Reason::PartitionNodeLimit => {
                let partition = self.cluster.partition(turn.partition)?;
                ReasonFigures::Nodes(NodeFigures {
                    asked: nodes_asked(job),
                    least: partition.min_nodes,
                    most: nodes_most(partition),
                })
            }
            Reason::JobArrayTaskLimit => {
                let array = self.cluster.arrays().get(&job.id)?;
                let is_its =
                    |start: &&crate::cycle::Start| start.array.is_some_and(|task| task.array_job == job.id);
                let started = self.cycle.starts.iter().rev().take_while(is_its).count() as u64;
                ReasonFigures::Tasks(TaskFigures {
                    running: array.running.len() + started,
                    most: array.running_max?,
                })
            }
            Reason::Licenses => {
                let number = self.kind_of(turn, self.access_of(turn.job));
                ReasonFigures::Licenses(self.licenses.shortage(&self.kinds.get(number).licenses)?)
            }
            Reason::Limit(_) => ReasonFigures::Limit(self.figures_of_limit(turn)?),
            Reason::Resources => ReasonFigures::Resources(self.resources_of(turn)?),
            _ => return None,
        })
    }

    fn resources_of(&mut self, turn: Turn<'a>) -> Option<ResourceFigures> {
        let number = self.kind_of(turn, self.access_of(turn.job));
        let kind = self.kinds.get(number);
        let demand = kind.demand.as_ref()?;
        let mut figures =
            ResourceFigures { cpus: demand.cpus_min(), cpus_free: 0, gpus: demand.gpus_min(), gpus_free: 0 };
        self.ground.count_steps(kind.order.len());
        for free in kind.order.iter().filter_map(|site| self.ground.free(*site)) {
            figures.cpus_free += u64::from(free.cpu_count);
            figures.gpus_free += u64::from(free.gpus.count());
        }
        Some(figures)
    }
}
