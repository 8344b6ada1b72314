package dialguard_test

import (
	"errors"
	"net/netip"
	"testing"

	"seckill/internal/kit/dialguard"
)

func TestAddresses(t *testing.T) {
	t.Parallel()
	g := dialguard.New([]netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")})
	for text, want := range map[string][2]bool{ // by https, by http
		"8.8.8.8": {true, false}, "2606:4700::1111": {true, false},
		"10.1.2.3": {true, true}, "::ffff:10.1.2.3": {true, true},
		"10.2.0.1": {}, "127.0.0.1": {}, "::1": {}, "::ffff:127.0.0.1": {}, "0.0.0.0": {}, "::": {},
		"192.168.1.1": {}, "172.16.0.1": {},
		"169.254.169.254": {}, "fe80::1%eth0": {}, "fd00:ec2::254": {}, "100.100.100.200": {},
		"168.63.129.16": {}, "224.0.0.1": {},
		"255.255.255.255": {}, "64:ff9b::7f00:1": {}, "2002:7f00:1::": {}, "2001:db8::1": {},
		"198.18.0.1": {}, "240.0.0.1": {},
		"::127.0.0.1": {}, "::a9fe:a9fe": {}, "4000::1": {},
	} {
		ip := netip.MustParseAddr(text)
		if secure, plain := g.Check(ip, true) == nil, g.Check(ip, false) == nil; secure != want[0] || plain != want[1] {
			t.Errorf("%s: by https %t, by http %t; want %v", text, secure, plain, want)
		}
	}
}

// Control also refuses text that is no address, and its errors say why an address is refused.
func TestControl(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"127.0.0.1:80": "127.0.0.1 may not be dialled", "nonsense": "nonsense may not be dialled",
	} {
		err := dialguard.New(nil).Control(true)("tcp", address, nil)
		if _, ok := errors.AsType[*dialguard.AddressError](err); !ok || err.Error() != want {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
	const want = "8.8.8.8 may be dialled with TLS only"
	if err := dialguard.New(nil).Control(false)("tcp", "8.8.8.8:80", nil); err == nil || err.Error() != want {
		t.Errorf("without TLS: %v", err)
	}
}
