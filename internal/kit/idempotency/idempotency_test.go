package idempotency

import "testing"

// Equal bodies have equal digests however they are written; others differ.
func TestDigest(t *testing.T) {
	t.Parallel()
	seen := map[[32]byte]int{}
	for i, equal := range [][]string{
		{"", "{}", " ", "\n{ }\n"},
		{
			`{"a":1,"b":{"c":"x","d":[1,2]}}`,
			`{ "b" : {"d":[1, 2], "c":"x"}, "a" : 1 }`,
			`{"a":1,"b":{"c":"\u0078","d":[1,2]}}`,
		},
		{`{"a":2,"b":{"c":"x","d":[1,2]}}`},
		{`{"a":1,"b":{"c":"x","d":[2,1]}}`},
		{`{"a":"1","b":{"c":"x","d":[1,2]}}`},
		{`{"A":1,"b":{"c":"x","d":[1,2]}}`},
		{`{"a":9007199254740993}`}, // beyond a float
		{`{"a":9007199254740992}`},
		{`{"a":`}, // no JSON
		{`{"b":`},
	} {
		for _, body := range equal {
			digest := Digest([]byte(body))
			if before, found := seen[digest]; found && before != i {
				t.Errorf("%q has the digest of row %d", body, before)
			}
			seen[digest] = i
		}
		if len(seen) != i+1 {
			t.Errorf("%d digests of %d kinds of bodies, after %q", len(seen), i+1, equal)
		}
	}
}
