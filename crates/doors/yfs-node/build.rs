//! Tells the linker how an addon is linked on this platform.

fn main() {
    napi_build::setup();
}
