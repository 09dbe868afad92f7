//! Which addresses belong to the public internet; all others are local, private or reserved.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address is neither this machine nor in a private or reserved network.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => public_v4(address),
        IpAddr::V6(address) => public_v6(address),
    }
}

fn public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !(address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        || a == 0
        || a >= 240
        || (a == 100 && b & 0xC0 == 64)
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && b & 0xFE == 18))
}

fn public_v6(address: Ipv6Addr) -> bool {
    let [first, second, third, fourth, fifth, sixth, high, low] = address.segments();
    let embedded_is_public = |high: u16, low: u16| {
        let [[a, b], [c, d]] = [high.to_be_bytes(), low.to_be_bytes()];
        public_v4(Ipv4Addr::new(a, b, c, d))
    };
    // IPv4-mapped, NAT64 and 6to4 addresses contain an IPv4 address, which is checked instead.
    match [first, second, third, fourth, fifth, sixth] {
        [0, 0, 0, 0, 0, 0xFFFF] | [0x64, 0xFF9B, 0, 0, 0, 0] => {
            return embedded_is_public(high, low);
        }
        [0x2002, high, low, ..] => return embedded_is_public(high, low),
        _ => {}
    }
    // Only 2000::/3 is allocated to the internet, and parts of it are reserved.
    let allocated = first & 0xE000 == 0x2000;
    let reserved = first == 0x2001 && (second < 0x200 || second == 0xDB8);
    let documentation = first == 0x3FFF && second < 0x1000;
    allocated && !reserved && !documentation
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_recognized_in_every_form() {
        for private in [
            "127.0.0.1",
            "127.8.8.8",
            "0.0.0.0",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "198.18.0.1",
            "192.0.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "240.0.0.1",
            "192.0.2.1",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "fec0::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2002:a00:1::",
            "2001::1",
            "2001:db8::1",
            "100::1",
            "3fff::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
    }

    #[test]
    fn public_addresses_are_recognized() {
        for public in [
            "1.1.1.1",
            "8.8.8.8",
            "172.32.0.1",
            "100.128.0.1",
            "192.1.0.1",
            "198.20.0.1",
            "2606:4700::1111",
            "2a00:1450::1",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::",
        ] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
    }
}
