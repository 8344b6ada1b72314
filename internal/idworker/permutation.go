package idworker

import (
	"encoding/binary"
	"math/bits"
)

const rounds = 22

// permutation maps the 32-bit numbers onto each other, one to one, in an order that depends only on its key.
//
// It is the block cipher Speck32/64 (Beaulieu et al., "The Simon and Speck Families of Lightweight Block Ciphers",
// 2013, https://eprint.iacr.org/2013/404), chosen because its block has the size of a number. Eight bytes of the key
// are Speck's; the other eight are added before and after it, as in DESX. It hides the day's counter from people who
// collect ids. It does not make ids secret or hard to guess; nothing may rely on that.
type permutation struct {
	before, after uint32
	round         [rounds]uint16
}

// newPermutation returns the permutation of a key. All processes must use the same key for ever; doc.go says what
// happens with the ids of another one.
func newPermutation(key [16]byte) *permutation {
	p := &permutation{before: binary.BigEndian.Uint32(key[8:]), after: binary.BigEndian.Uint32(key[12:])}
	// Speck's key words, in the order l2, l1, l0, k0.
	var l [rounds + 2]uint16
	for i := range 3 {
		l[i] = binary.BigEndian.Uint16(key[4-2*i:])
	}
	p.round[0] = binary.BigEndian.Uint16(key[6:])
	for i := range rounds - 1 {
		l[i+3] = (p.round[i] + bits.RotateLeft16(l[i], -7)) ^ uint16(i)
		p.round[i+1] = bits.RotateLeft16(p.round[i], 2) ^ l[i+3]
	}
	return p
}

// scramble returns the scrambled number.
func (p *permutation) scramble(number uint32) uint32 {
	v := number ^ p.before
	x, y := uint16(v>>16), uint16(v)
	for _, k := range p.round {
		x = (bits.RotateLeft16(x, -7) + y) ^ k
		y = bits.RotateLeft16(y, 2) ^ x
	}
	return (uint32(x)<<16 | uint32(y)) ^ p.after
}

// unscramble is the inverse of scramble.
func (p *permutation) unscramble(place uint32) uint32 {
	v := place ^ p.after
	x, y := uint16(v>>16), uint16(v)
	for i := rounds - 1; i >= 0; i-- {
		y = bits.RotateLeft16(y^x, -2)
		x = bits.RotateLeft16((x^p.round[i])-y, 7)
	}
	return (uint32(x)<<16 | uint32(y)) ^ p.before
}

// id combines a time, in seconds since the epoch, with a number of that day's counter, which it scrambles.
func (p *permutation) id(second, number int64) int64 {
	return second<<numberBits | int64(p.scramble(uint32(number)))
}

// number returns the id's number within its day.
func (p *permutation) number(id int64) int64 { return int64(p.unscramble(uint32(id))) }
