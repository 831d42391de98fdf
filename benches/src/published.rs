//! The papers' numbers for their benchmarks.

/// A row of table 1 or 2 of Burnim, Sen, Stergiou: Sound and complete monitoring of sequential consistency for relaxed
/// memory models, TACAS 2011, section 7.
pub struct Bounded {
    pub interleavings: u64,
    /// Total time in seconds.
    pub seconds: f64,
    /// Distinct violations.
    pub tso: u32,
    pub pso: u32,
}

/// A row of table 1 of the technical report, UCB/EECS-2010-31, section 5: 1000 random executions.
pub struct Drawn {
    /// Average length of a trace.
    pub events: u32,
    /// Traces with violations, and distinct violations.
    pub with_tso: u32,
    pub tso: u32,
    pub with_pso: u32,
    pub pso: u32,
    /// Average time of both monitors for a trace, in seconds.
    pub seconds: f64,
}

/// Everything known about a benchmark.
pub struct Published {
    pub name: &'static str,
    /// Up to one preemption, up to two.
    pub bounds: [Bounded; 2],
    pub drawn: Drawn,
}

const fn bounded(interleavings: u64, seconds: f64, tso: u32, pso: u32) -> Bounded {
    Bounded { interleavings, seconds, tso, pso }
}

const fn drawn(events: u32, [with_tso, tso]: [u32; 2], [with_pso, pso]: [u32; 2], seconds: f64) -> Drawn {
    Drawn { events, with_tso, tso, with_pso, pso, seconds }
}

/// The seven benchmarks.
pub const BENCHMARKS: [Published; 7] = [
    Published {
        name: "dekker",
        bounds: [bounded(79, 6.4, 3, 5), bounded(1714, 180.0, 9, 11)],
        drawn: drawn(140, [973, 10], [977, 15], 0.01 + 0.01),
    },
    Published {
        name: "bakery",
        bounds: [bounded(197, 42.4, 3, 4), bounded(13_632, 3992.4, 3, 4)],
        drawn: drawn(515, [992, 3], [1000, 4], 0.04 + 0.05),
    },
    Published {
        name: "msn",
        bounds: [bounded(92, 7.5, 0, 3), bounded(2300, 196.1, 0, 3)],
        drawn: drawn(337, [0, 0], [943, 3], 0.01 + 0.02),
    },
    Published {
        name: "ms2",
        bounds: [bounded(123, 11.0, 0, 2), bounded(3322, 300.0, 0, 2)],
        drawn: drawn(193, [0, 0], [73, 2], 0.01 + 0.01),
    },
    Published {
        name: "harris",
        bounds: [bounded(161, 18.8, 0, 2), bounded(5646, 661.7, 0, 2)],
        drawn: drawn(1332, [0, 0], [976, 2], 0.06 + 0.07),
    },
    Published {
        name: "lazylist",
        bounds: [bounded(139, 14.0, 0, 4), bounded(4045, 428.4, 0, 4)],
        drawn: drawn(443, [0, 0], [18, 2], 0.02 + 0.02),
    },
    Published {
        name: "snark",
        bounds: [bounded(172, 15.4, 0, 4), bounded(6510, 609.9, 0, 10)],
        drawn: drawn(376, [0, 0], [951, 10], 0.01 + 0.02),
    },
];

/// A row of figure 4(a) of Burckhardt, Musuvathi: Effective program verification for relaxed memory models, CAV 2008, for
/// one bound on preemptions: the bound, interleavings, of these borderline, seconds with SOBER.
type Row = (u32, u64, u64, &'static str);

/// Programs there, and `N` of ours: two and three critical sections a thread, six operations on the queue.
pub const SOBER: [(&str, u32, &[Row]); 3] = [
    (
        "dekker",
        2,
        &[
            (1, 5, 4, "< 0.2"),
            (2, 36, 23, "0.39"),
            (3, 183, 50, "1.9"),
            (4, 1219, 124, "13.2"),
            (5, 8472, 349, "106.0"),
        ],
    ),
    ("bakery", 3, &[(0, 1, 1, "< 0.2"), (1, 25, 20, "0.47"), (2, 742, 533, "10.3"), (3, 12_436, 8599, "189.0")]),
    (
        "takequeue",
        2,
        &[
            (0, 3, 0, "< 0.3"),
            (1, 47, 14, "0.72"),
            (2, 402, 189, "5.2"),
            (3, 2318, 1197, "28.9"),
            (4, 9147, 5321, "125.5"),
            (5, 29_821, 17_922, "481.5"),
        ],
    ),
];
