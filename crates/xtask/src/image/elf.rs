//! Checks of a program's file: its machine, whether it is static, which paths are in it.

use object::LittleEndian;
use object::elf::PT_INTERP;
use object::read::elf::ElfFile64;

use super::program::Arch;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    #[error("the program is not a 64-bit ELF file")]
    NotElf,
    #[error("the program is for ELF machine {found}, not {wanted}")]
    Machine { found: u16, wanted: u16 },
    #[error("the program asks for a dynamic loader: it must be linked statically")]
    Dynamic,
    #[error(
        "the program holds a path of this machine, {0}: give it to --remap-path-prefix, or it is another program elsewhere"
    )]
    Path(String),
}

pub fn check(program: &[u8], arch: Arch, paths: &[String]) -> Result<(), Unfit> {
    let file = ElfFile64::<LittleEndian>::parse(program).map_err(|_| Unfit::NotElf)?;
    let machine = file.elf_header().e_machine.get(LittleEndian);
    if machine != arch.elf_machine() {
        return Err(Unfit::Machine {
            found: machine,
            wanted: arch.elf_machine(),
        });
    }
    let mut headers = file.elf_program_headers().iter();
    if headers.any(|header| header.p_type.get(LittleEndian) == PT_INTERP) {
        return Err(Unfit::Dynamic);
    }
    match paths.iter().find(|path| holds(program, path.as_bytes())) {
        Some(path) => Err(Unfit::Path(path.clone())),
        None => Ok(()),
    }
}

fn holds(bytes: &[u8], wanted: &[u8]) -> bool {
    !wanted.is_empty() && bytes.windows(wanted.len()).any(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ELF-64 file (`man 5 elf`) with one program header of `kind`, followed by `text`.
    fn program(machine: u16, kind: u32, text: &str) -> Vec<u8> {
        let mut bytes = vec![0; 64 + 56];
        bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes[20..24].copy_from_slice(&1u32.to_le_bytes());
        bytes[32..40].copy_from_slice(&64u64.to_le_bytes());
        bytes[52..54].copy_from_slice(&64u16.to_le_bytes());
        bytes[54..56].copy_from_slice(&56u16.to_le_bytes());
        bytes[56..58].copy_from_slice(&1u16.to_le_bytes());
        bytes[64..68].copy_from_slice(&kind.to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes
    }

    #[test]
    fn a_static_program_for_the_right_machine_is_taken() {
        let ours = ["/home/ann".to_owned()];
        assert_eq!(check(&program(62, 1, "/cargo/x.rs"), Arch::Amd64, &ours), Ok(()));
        assert_eq!(check(&program(183, 1, ""), Arch::Arm64, &ours), Ok(()));
    }

    #[test]
    fn a_program_that_would_not_run_in_the_image_is_refused() {
        let wrong = Unfit::Machine { found: 62, wanted: 183 };
        assert_eq!(check(&program(62, 1, ""), Arch::Arm64, &[]), Err(wrong));
        assert_eq!(
            check(&program(62, PT_INTERP, ""), Arch::Amd64, &[]),
            Err(Unfit::Dynamic)
        );
        assert_eq!(check(b"#!/bin/sh", Arch::Amd64, &[]), Err(Unfit::NotElf));
        let cut = &program(62, 1, "")[..66];
        assert_eq!(check(cut, Arch::Amd64, &[]), Err(Unfit::NotElf));
    }

    #[test]
    fn a_program_that_names_a_folder_of_its_builder_is_refused() {
        let paths = ["/home/ann".to_owned()];
        let found = check(&program(62, 1, "at /home/ann/x.rs"), Arch::Amd64, &paths);
        assert_eq!(found, Err(Unfit::Path("/home/ann".to_owned())));
    }

    #[test]
    fn the_program_that_runs_this_test_is_for_this_machine_and_not_static() {
        let me = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let Some(arch) = Arch::of_this_machine() else { return };
        if cfg!(all(target_os = "linux", target_env = "gnu")) {
            assert_eq!(check(&me, arch, &[]), Err(Unfit::Dynamic));
        }
    }
}
