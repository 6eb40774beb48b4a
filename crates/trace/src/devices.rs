//! Numbers the devices of a trace 0, 1, … by name.

use std::collections::HashMap;

use crate::formats::Device;
use crate::hasher::FixedState;
use crate::source::DeviceName;

/// Numbers devices in order of first appearance.
pub(crate) struct Devices {
    /// The names, by our numbers.
    names: Vec<DeviceName>,
    /// For each device number of the trace that is small: our number plus 1, or 0 if the device has not appeared.
    small: [u32; Devices::SMALL],
    numbered: HashMap<u64, u32, FixedState>,
    named: HashMap<Box<[u8]>, u32, FixedState>,
    /// The last device that was looked up by name: consecutive requests are mostly for the same device.
    last: (Box<[u8]>, u32),
}

impl Default for Devices {
    fn default() -> Self {
        Devices {
            names: Vec::new(),
            small: [0; Devices::SMALL],
            numbered: HashMap::default(),
            named: HashMap::default(),
            last: Default::default(),
        }
    }
}

impl Devices {
    const SMALL: usize = 256;

    #[inline]
    pub(crate) fn number(&mut self, device: Device<'_>) -> u32 {
        match device {
            Device::Number(number) if number < Devices::SMALL as u64 => {
                let slot = &mut self.small[number as usize];
                if *slot == 0 {
                    *slot = add(&mut self.names, DeviceName::Number(number)) + 1;
                }
                *slot - 1
            }
            Device::Number(number) => {
                let names = &mut self.names;
                *self.numbered.entry(number).or_insert_with(|| add(names, DeviceName::Number(number)))
            }
            Device::Name(name) if *name == *self.last.0 => self.last.1,
            Device::Name(name) => self.other_name(name),
        }
    }

    /// What the trace calls a device.
    pub(crate) fn name(&self, number: u32) -> Option<&DeviceName> {
        self.names.get(number as usize)
    }

    fn other_name(&mut self, name: &[u8]) -> u32 {
        let known = self.named.get(name).copied();
        let device = known.unwrap_or_else(|| {
            let device = add(&mut self.names, DeviceName::Name(name.into()));
            self.named.insert(name.into(), device);
            device
        });
        self.last = (name.into(), device);
        device
    }
}

fn add(names: &mut Vec<DeviceName>, name: DeviceName) -> u32 {
    names.push(name);
    names.len() as u32 - 1
}
