//! What a run is billed: its CPUs, or what the weights of its partition make of all that it has.

use daybook_schemas::billing::BillingRule;
use daybook_schemas::license::License;
use daybook_schemas::node::PartitionDefinition;

use crate::cluster::Cluster;
use crate::counts::Counts;

impl Cluster {
    /// What these counts and licences are billed in a partition; `None`: it has no weights, and the CPUs are billed.
    pub fn bill(
        &self,
        partition: &PartitionDefinition,
        counts: &Counts,
        licenses: &[License],
    ) -> Option<u64> {
        let weights = partition.billing_weights.as_ref()?;
        let rule =
            self.priority_parameters().map_or(BillingRule::Sum, |parameters| parameters.billing_rule());
        Some(weights.bill(rule, |name| match name.strip_prefix("license/") {
            Some(name) => {
                let licenses = licenses.iter().filter(|license| license.name == name);
                licenses.map(|license| u64::from(license.count)).sum()
            }
            None => counts.amount(name),
        }))
    }
}
