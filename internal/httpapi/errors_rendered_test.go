package httpapi

import (
	"errors"
	"slices"
	"testing"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/words"
)

func brokenThing() httpkit.Failure {
	return httpkit.Failure{
		Code: "BROKEN_THING", Status: 409, Title: "Broken", Detail: "It \"broke\".",
		English: "It broke.", Chinese: "坏了",
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	bare, f := render(brokenThing()), brokenThing()
	f.Members = func(body []byte, l words.Language, err error) []byte {
		return append(body, `,"`+l.String()+`":"`+err.Error()+`"`...)
	}
	full := render(f)
	const doc, plain = httpkit.ProblemDocument, httpkit.PlainEnvelope
	const head = `{"type":"urn:seckill:problem:broken-thing","title":"Broken","status":409,"detail":"It \"broke\".",`
	for _, c := range []struct {
		got  []byte
		want string
	}{
		{bare.body(doc, 0, nil), head + `"success":false,"code":"BROKEN_THING","errorMsg":"It broke."}`},
		{bare.body(doc, 1, nil), head + `"success":false,"code":"BROKEN_THING","errorMsg":"坏了"}`},
		{bare.body(plain, 0, nil), `{"success":false,"code":"BROKEN_THING","errorMsg":"It broke."}`},
		{bare.body(plain, 1, nil), `{"success":false,"code":"BROKEN_THING","errorMsg":"坏了"}`},
		{
			full.body(doc, 1, errors.New("x")),
			head + `"success":false,"code":"BROKEN_THING","errorMsg":"坏了","zh":"x"}`,
		},
		{
			full.body(plain, 0, errors.New("y")),
			`{"success":false,"code":"BROKEN_THING","errorMsg":"It broke.","en":"y"}`,
		},
	} {
		if string(c.got) != c.want {
			t.Errorf("got  %s\nwant %s", c.got, c.want)
		}
	}
}

// Requests share the bodies: adding members must not write into them.
func TestSharedBodiesStayAsTheyAre(t *testing.T) {
	t.Parallel()
	f := brokenThing()
	f.Members = func(body []byte, _ words.Language, _ error) []byte { return append(body, `,"data":1`...) }
	e := render(f)
	for i := range e.bodies {
		for l := range e.bodies[i] {
			e.bodies[i][l] = slices.Grow(e.bodies[i][l], 1000) // with room behind, appending would write into it
		}
	}
	read := func() string { return string(e.bodies[0][0]) + string(e.bodies[1][1]) }
	before := read()
	_, _ = e.body(httpkit.ProblemDocument, 0, nil), e.body(httpkit.PlainEnvelope, 1, nil)
	if after := read(); after != before {
		t.Errorf("%s became %s", before, after)
	}
}

// A body without members costs nothing.
func TestBodiesDoNotAllocate(t *testing.T) { // not parallel: allocations are counted for the whole process
	e := render(brokenThing())
	if n := testing.AllocsPerRun(100, func() {
		_, _ = e.body(httpkit.ProblemDocument, 1, nil), e.body(httpkit.PlainEnvelope, 0, nil)
	}); n > 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
