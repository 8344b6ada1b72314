package problem

import (
	"errors"
	"slices"
	"testing"

	"seckill/internal/kit/words"
)

func broken() Problem {
	return Problem{
		Type: "urn:test:broken", Code: "BROKEN", Status: 409, Title: "Broken", Detail: "It \"broke\".",
		Messages: words.Text{"It broke.", "坏了"},
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	bare, err := Render(broken())
	if err != nil {
		t.Fatal(err)
	}
	p := broken()
	p.Members = func(body []byte, l words.Language, err error) []byte {
		return append(body, `,"`+l.String()+`":"`+err.Error()+`"`...)
	}
	full, err := Render(p)
	if err != nil {
		t.Fatal(err)
	}
	const head = `{"type":"urn:test:broken","title":"Broken","status":409,"detail":"It \"broke\".",`
	for _, c := range []struct {
		got  []byte
		want string
	}{
		{bare.Document(0, nil), head + `"success":false,"code":"BROKEN","errorMsg":"It broke."}`},
		{bare.Document(1, nil), head + `"success":false,"code":"BROKEN","errorMsg":"坏了"}`},
		{bare.Envelope(0, nil), `{"success":false,"code":"BROKEN","errorMsg":"It broke."}`},
		{bare.Envelope(1, nil), `{"success":false,"code":"BROKEN","errorMsg":"坏了"}`},
		{full.Document(1, errors.New("x")), head + `"success":false,"code":"BROKEN","errorMsg":"坏了","zh":"x"}`},
		{full.Envelope(0, errors.New("y")), `{"success":false,"code":"BROKEN","errorMsg":"It broke.","en":"y"}`},
	} {
		if string(c.got) != c.want {
			t.Errorf("got  %s\nwant %s", c.got, c.want)
		}
	}
}

// Requests share the bodies: adding members must not write into them.
func TestSharedBodiesStayAsTheyAre(t *testing.T) {
	t.Parallel()
	p := broken()
	p.Members = func(body []byte, _ words.Language, _ error) []byte { return append(body, `,"data":1`...) }
	b, err := Render(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, bodies := range [][][]byte{b.documents[:], b.envelopes[:]} {
		for i := range bodies {
			bodies[i] = slices.Grow(bodies[i], 1000) // with room behind, appending would write into it
		}
	}
	before := string(b.documents[0]) + string(b.envelopes[1])
	_, _ = b.Document(0, nil), b.Envelope(1, nil)
	if after := string(b.documents[0]) + string(b.envelopes[1]); after != before {
		t.Errorf("%s became %s", before, after)
	}
}

// A body without members costs nothing.
func TestBodiesDoNotAllocate(t *testing.T) { // not parallel: allocations are counted for the whole process
	b, err := Render(broken())
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = b.Document(1, nil), b.Envelope(0, nil) }); n > 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
