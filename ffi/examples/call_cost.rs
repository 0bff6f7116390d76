//! What one `leaseflake_next_id()` costs beside `next_id()` in Rust, as a ratio measured in one run.
//!
//! `call_cost LIBRARY [ROUNDS]`, built with `--release`, as is the library; `make bench-c` does all of it. On a layout with 20
//! sequence bits, so that the limit of a millisecond is out of the way. Each line that it prints is a name, a unit and the
//! numbers of all rounds, between tabs.

use std::ffi::{CStr, CString, c_void};
use std::hint::black_box;
use std::time::Instant;

use leaseflake::{IdGenerator, Options};

/// So few that a round mostly fits between two interruptions: the best rounds are those that did.
const CALLS: u32 = 20_000;
const LAYOUT: &str = "37-3-3-20";

type Open = unsafe extern "C" fn(*const c_void, *mut *mut c_void, *mut c_void) -> i32;
type NextId = unsafe extern "C" fn(*const c_void, *mut i64) -> i32;

/// The library as a C program has it: loaded, called through pointers.
struct Library {
    next_id: NextId,
    generator: *mut c_void,
}

impl Library {
    fn load(path: &str) -> Library {
        let path = CString::new(path).expect("a path");
        // SAFETY: the library is ours, and stays loaded.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        assert!(!handle.is_null(), "{path:?} cannot be loaded");
        let symbol = |name: &CStr| {
            // SAFETY: a live handle.
            let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
            assert!(!found.is_null(), "{name:?} is missing");
            found
        };
        // SAFETY: the header gives these types.
        let (open, next_id) = unsafe {
            (
                std::mem::transmute::<*mut c_void, Open>(symbol(c"leaseflake_open")),
                std::mem::transmute::<*mut c_void, NextId>(symbol(c"leaseflake_next_id")),
            )
        };
        let mut generator = std::ptr::null_mut();
        // SAFETY: null options and errors are allowed.
        let code = unsafe { open(std::ptr::null(), &mut generator, std::ptr::null_mut()) };
        assert_eq!(code, 0, "leaseflake_open");
        Library { next_id, generator }
    }
}

fn nanoseconds_per_call(mut call: impl FnMut()) -> f64 {
    let began = Instant::now();
    for _ in 0..CALLS {
        call();
    }
    began.elapsed().as_nanos() as f64 / f64::from(CALLS)
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let library = arguments.next().expect("usage: call_cost LIBRARY [ROUNDS]");
    let rounds: usize = arguments.next().map_or(2000, |text| text.parse().expect("a number of rounds"));
    // SAFETY: no other thread runs yet.
    unsafe {
        std::env::set_var("LEASEFLAKE_STORE", "memory:cost");
        std::env::set_var("LEASEFLAKE_LAYOUT", LAYOUT);
    }
    let rust = IdGenerator::open(Options::new()).expect("open");
    let c = Library::load(&library);
    let (mut of_rust, mut of_c) = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        let rust_ns = nanoseconds_per_call(|| {
            black_box(rust.next_id().expect("an ID"));
        });
        let c_ns = nanoseconds_per_call(|| {
            let mut id = 0;
            // SAFETY: an open generator and a place for the ID.
            let code = unsafe { (c.next_id)(c.generator, &mut id) };
            assert!(code == 0 && black_box(id) > 0);
        });
        // The first round warms up.
        if round > 0 {
            of_rust.push(rust_ns);
            of_c.push(c_ns);
        }
    }
    let best = |rounds: &[f64]| rounds.iter().copied().fold(f64::MAX, f64::min);
    let ratios: Vec<f64> = of_c.iter().zip(&of_rust).map(|(c, rust)| c / rust).collect();
    // Noise only ever makes a round worse, so what each costs by itself is its best round.
    row("leaseflake_next_id() / next_id() in Rust", "ratio", &[best(&of_c) / best(&of_rust)]);
    row("... round by round", "ratio", &ratios);
    row("next_id() in Rust", "ns", &of_rust);
}

fn row(what: &str, unit: &str, rounds: &[f64]) {
    let numbers: Vec<String> = rounds.iter().map(|number| format!("{number:.4}")).collect();
    println!("{what}\t{unit}\t{}", numbers.join(" "));
}
