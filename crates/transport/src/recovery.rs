//! What reveals a loss to a sender of TCP.

pifolab_params::choices! {
    /// What reveals a loss, and at which pace a sender repairs it.
    #[derive(Default)]
    pub enum Recovery {
        #[default]
        Duplicates = "duplicates": "duplicate acknowledgements; one retransmission per partial acknowledgement (RFC 6582)",
        Rack = "rack": "times of transmission, and a probe after the last segment (RFC 8985), as in Linux",
    }
}
