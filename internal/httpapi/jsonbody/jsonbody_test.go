package jsonbody

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/kit/invalid"
	"seckill/internal/kit/words"
)

// values is what the tests' table of fields fills.
type values struct {
	Number   int64
	Text     string
	At       time.Time
	Span     time.Duration
	On       bool
	Truth    bool
	Optional *string
}

// table is a field of every kind.
func (v *values) table() []Field {
	return []Field{
		Required(Integer("number", &v.Number)),
		Text("text", &v.Text),
		Time("at", &v.At, time.UTC),
		Seconds("span", &v.Span),
		Choice("on", &v.On, map[int64]bool{1: true, 2: false}),
		Optional(Text, "optional", &v.Optional),
		Bool("truth", &v.Truth),
		Forbidden("id", invalid.Immutable, nil),
	}
}

// problems are those of an *invalid.Error; the test fails for any other error.
func problems(t *testing.T, err error) []invalid.Problem {
	t.Helper()
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*invalid.Error](err)
	if !ok {
		t.Fatalf("%v is no *invalid.Error", err)
	}
	return e.Problems
}

// fields are the names of the problems' fields.
func fields(ps []invalid.Problem) (names []string) {
	for _, p := range ps {
		names = append(names, p.Field)
	}
	return names
}

func TestFields(t *testing.T) {
	t.Parallel()
	const body = `{"number":-7,"text":"a","at":"2026-01-02T20:00:00+08:00","span":90,"on":1,"optional":"","truth":true}`
	var got values
	if err := decode([]byte(body), got.table()); err != nil {
		t.Fatal(err)
	}
	want := values{
		Number: -7, Text: "a", At: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), Span: 90 * time.Second, On: true,
		Truth: true, Optional: new(""),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = values{}
	if err := decode([]byte(` {"number":1} `), got.table()); err != nil || !cmp.Equal(got, values{Number: 1}) {
		t.Errorf("without what is not required: %v, %+v", err, got)
	}
}

// What each kind refuses, and with which words.
func TestFieldsRefuse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ field, value, reason, allowed string }{
		{"number", `"1"`, "is of the JSON type string", "a whole number"},
		{"number", `null`, "is of the JSON type null", "a whole number"},
		{"number", `true`, "is of the JSON type boolean", "a whole number"},
		{"number", `[1]`, "is of the JSON type array", "a whole number"},
		{"number", `{"a":{}}`, "is of the JSON type object", "a whole number"},
		{"number", `1.0`, "is 1.0, a fraction or a number with an exponent", "a whole number"},
		{"number", `1e3`, "is 1e3, a fraction or a number with an exponent", "a whole number"},
		{"number", `9223372036854775808`, "is 9223372036854775808", "a whole number"},
		{"number", `1` + strings.Repeat("0", 99), "is 1" + strings.Repeat("0", 63) + "…", "a whole number"},
		{"text", `1`, "is of the JSON type number", "a string"},
		{
			"at", `1`, "is of the JSON type number",
			"a time such as 2026-01-02T20:00:00Z, or 2026-01-02T20:00:00 in the time zone UTC",
		},
		{
			"at", `"2026-02-30T20:00:00"`, `is "2026-02-30T20:00:00"`,
			"a time such as 2026-01-02T20:00:00Z, or 2026-01-02T20:00:00 in the time zone UTC",
		},
		{"span", `0`, "is 0", "a whole number of seconds"},
		{"span", `9223372037`, "is 9223372037", "a whole number of seconds"},
		{"span", `"1"`, "is of the JSON type string", "a whole number of seconds"},
		{"on", `3`, "is 3", "1, 2"},
		{"on", `257`, "is 257", "1, 2"}, // 1 in eight bits
		{"on", `true`, "is of the JSON type boolean", "1, 2"},
		{"optional", `null`, "is of the JSON type null", "a string"},
		{"id", `1`, "never changes", "leave it out"},
		{"Text", `"a"`, "is not known here", "number, text, at, span, on, optional, truth"},
	} {
		body := fmt.Sprintf(`{"number":1,%q:%s}`, c.field, c.value)
		if c.field == "number" {
			body = fmt.Sprintf(`{"number":%s}`, c.value)
		}
		got := values{Number: 1}
		ps := problems(t, decode([]byte(body), got.table()))
		if p := ps[0].In(words.English); len(ps) != 1 || p.Field != c.field || p.Reason != c.reason ||
			p.Allowed != c.allowed {
			t.Errorf("%s: %+v", body, p)
		}
		if !cmp.Equal(got, values{Number: 1}) {
			t.Errorf("%s: something was stored: %+v", body, got)
		}
	}
}

// A time without a zone is read in the given one.
func TestTimesWithoutAZone(t *testing.T) {
	t.Parallel()
	var at time.Time
	field := Time("at", &at, time.FixedZone("Asia/Shanghai", 8*60*60))
	for text, want := range map[string]time.Time{
		"2026-01-02T20:00:00":         time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC),
		"2026-01-02T23:00:00.5+08:00": time.Date(2026, 1, 2, 15, 0, 0, 500_000_000, time.UTC),
		"2026-01-02T20:00:00Z":        time.Date(2026, 1, 2, 20, 0, 0, 0, time.UTC),
	} {
		if err := decode(fmt.Appendf(nil, `{"at":%q}`, text), []Field{field}); err != nil || !at.Equal(want) {
			t.Errorf("%s: %s, %v", text, at, err)
		}
	}
}

// A local time that clocks skip when they are put forward is not moved silently.
func TestTimesThatClocksSkip(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	var at time.Time
	field := Time("at", &at, berlin)
	for text, want := range map[string]string{ // "": refused
		"2026-03-29T01:59:59": "2026-03-29T00:59:59Z", "2026-03-29T03:00:00": "2026-03-29T01:00:00Z",
		"2026-03-29T02:00:00": "", "2026-03-29T02:30:00": "", "2026-03-29T02:59:59.5": "",
		"2026-03-29T02:30:00+02:00": "2026-03-29T00:30:00Z", // an instant, whatever clocks show
		"2026-10-25T02:30:00":       "2026-10-25T01:30:00Z", // shown twice
	} {
		err := decode(fmt.Appendf(nil, `{"at":%q}`, text), []Field{field})
		if got := at.UTC().Format(time.RFC3339); want != "" && (err != nil || got != want) {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
		if want == "" {
			if ps := problems(t, err); len(ps) != 1 || ps[0].Reason != invalid.Skipped ||
				!strings.Contains(ps[0].In(words.English).Reason, "clocks in Europe/Berlin never show") {
				t.Errorf("%s: %+v", text, ps)
			}
		}
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		"1": true, "9": true, "0": false, "-1": false, "10": false, "1.5": false, `"1"`: false, "null": false,
	} {
		var n int64
		err := decode([]byte(`{"n":`+text+`}`), []Field{Count("n", &n, 9)})
		if (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
		if !ok && problems(t, err)[0].Allowed != invalid.Range {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A picture is on one of the hosts, by https, in characters that a page's policy and its attributes take as they are.
func TestPicture(t *testing.T) {
	t.Parallel()
	hosts := []string{"img.shop.example", "cdn.example:8443"}
	long := "https://img.shop.example/" + strings.Repeat("x", maxPicture-len("https://img.shop.example/"))
	for address, ok := range map[string]bool{
		"": true, "https://img.shop.example/a.png": true, "https://cdn.example:8443/a/b?w=2#c": true,
		"https://IMG.shop.example": true, long: true, long + "x": false,
		"http://img.shop.example/a.png": false, "//img.shop.example/a.png": false, "img.shop.example/a.png": false,
		"https:img.shop.example/a.png": false, "https://img.shop.example:8443/a": false,
		"https://other.example/a.png": false, "https://a.img.shop.example/a.png": false,
		"https://img.shop.example.evil.example/a": false, "https://img.shop.example@evil.example/a": false,
		"https://evil@img.shop.example/a": false, `https://evil.example\@img.shop.example/a`: false,
		"https://img.shop.example/a b": false, "https://img.shop.example/\n": false,
		"https://img.shop.example/图": false, "javascript:alert(1)": false, "data:image/png;base64,AA": false,
	} {
		body, err := json.Marshal(map[string]string{"picture": address})
		if err != nil {
			t.Fatal(err)
		}
		got := "before"
		err = decode(body, []Field{Picture("picture", &got, hosts, nil)})
		if want := map[bool]string{true: address, false: "before"}[ok]; (err == nil) != ok || got != want {
			t.Errorf("%q: %v, stored %q", address, err, got)
		}
		if ok {
			continue
		}
		const allowed = "an address by https on img.shop.example, cdn.example:8443, of up to 512 characters, or nothing"
		if p := problems(t, err)[0].In(words.English); p.Code != "MALFORMED" || p.Field != "picture" ||
			p.Allowed != allowed {
			t.Errorf("%q: %+v", address, p)
		}
	}
	var got string
	err := decode([]byte(`{"picture":"https://img.shop.example/a.png"}`), []Field{Picture("picture", &got, nil, nil)})
	if p := problems(t, err)[0].In(words.English); got != "" || p.Code != "NEEDS_SETTING" || p.AllowedCode != "OMIT" ||
		p.Reason != "needs the setting SECKILL_PICTURE_HOSTS, which is not set" {
		t.Errorf("without hosts: %q, %+v", got, p)
	}
	if err := decode([]byte(`{"picture":""}`), []Field{Picture("picture", &got, nil, nil)}); err != nil {
		t.Errorf("none, without hosts: %v", err)
	}
	for _, hosts := range [][]string{nil, hosts} {
		var elsewhere *invalid.Problem
		err := decode([]byte(`{"picture":"https://old.example/a.png"}`),
			[]Field{Picture("picture", &got, hosts, &elsewhere)})
		if err != nil || got != "https://old.example/a.png" || elsewhere == nil || elsewhere.Field != "picture" {
			t.Errorf("that may be there, with %v: %v, %q, %+v", hosts, err, got, elsewhere)
		}
		elsewhere = nil
		err = decode([]byte(`{"picture":7}`), []Field{Picture("picture", &got, hosts, &elsewhere)})
		if p := problems(t, err)[0]; p.Reason != jsonType || elsewhere != nil {
			t.Errorf("a number, with %v: %v, %+v", hosts, err, elsewhere)
		}
	}
}

func TestBodiesThatAreNoObject(t *testing.T) {
	t.Parallel()
	const good = `{"number":1,"text":"a"}`
	for name, body := range map[string]string{
		"list": `[]`, "string": `"x"`, "number": `1`, "null": `null`, "true": `true`, "spaces": "  ", "empty": "",
		"cut": good[:len(good)-1], "cut in a string": good[:5],
		"trailing object": good + "{}", "trailing comma": `{"number":1,}`, "trailing text": good + " x",
		"no quotes": `{number:1}`, "single quotes": `{'number':1}`,
		"comment": `{/* */"number":1}`, "BOM": "\ufeff" + good, "UTF-16": "{\x00\"\x00",
		"not UTF-8": "{\"text\":\"\xff\xfe\"}", "NaN": `{"number":NaN}`,
		"plus": `{"number":+1}`, "leading zero": `{"number":01}`, "two values": `{"number":1 2}`,
		"deep": strings.Repeat("[", 20_000), "form": "number=1&text=x",
	} {
		var v values
		ps := problems(t, decode([]byte(body), v.table()))
		if !cmp.Equal(fields(ps), []string{"body"}) || ps[0].Allowed != jsonObject {
			t.Errorf("%s: %+v", name, ps)
		}
	}
}

func TestUnknownMissingAndRepeatedFields(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][]string{
		`{}`:                                     {"number"},
		`{"number":1,"x":null}`:                  {"x"},
		`{"number":1,"x":0,"y":1}`:               {"x", "y"},
		`{"number":1,"Number":2}`:                {"Number"},
		`{"number":1,"x":{"a":[{}]}}`:            {"x"},
		`{"number":1,"number":1}`:                {"number"},
		`{"number":1,"t\u0065xt":"","text":""}`:  {"text"},
		`{"number":"1","number":1,"number":2}`:   {"number", "number", "number"},
		`{"":1,"text":1}`:                        {"", "text", "number"},
		`{"number":1,"x":{"number":2},"text":3}`: {"x", "text"},
	} {
		var v values
		if diff := cmp.Diff(want, fields(problems(t, decode([]byte(body), v.table())))); diff != "" {
			t.Errorf("%s: fields (-want +got):\n%s", body, diff)
		}
	}
}

// However many things are wrong, and however long names are, the answer stays small.
func TestProblemsAreBounded(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&many, `"%d":1,`, i)
	}
	var v values
	if got := problems(t, decode([]byte("{"+many.String()+`"x":1}`), v.table())); len(got) != maxProblems {
		t.Errorf("%d problems, want %d", len(got), maxProblems)
	}
	got := problems(t, decode([]byte(`{"`+strings.Repeat("é", 9000)+`":1}`), v.table()))
	if name := got[0].Field; len(name) > 64+len("…") || !utf8.ValidString(name) ||
		strings.ContainsRune(name, utf8.RuneError) {
		t.Errorf("a long name is %q", name)
	}
}

// post is a request with a body; a kind of "" is no Content-Type.
func post(t *testing.T, body, kind string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	return r
}

func TestContentTypes(t *testing.T) {
	t.Parallel()
	const body = `{"number":1}`
	for kind, ok := range map[string]bool{
		"application/json": true, "application/json; charset=utf-8": true,
		"Application/JSON;charset=UTF-8": true, "application/json; charset=\"utf-8\"": true,
		"": false, "text/plain": false, "application/json; charset=gbk": false,
		"application/x-www-form-urlencoded": false, "application/problem+json": false,
		"application/json; charset": false, "multipart/form-data; boundary=x": false, ";": false,
	} {
		var v values
		err := Read(httptest.NewRecorder(), post(t, body, kind), 100, v.table()...)
		if ok && (err != nil || v.Number != 1) {
			t.Errorf("%q: %v, %+v", kind, err, v)
		}
		if !ok && !cmp.Equal(fields(problems(t, err)), []string{"Content-Type"}) {
			t.Errorf("%q: %v", kind, err)
		}
	}
	for encoding, want := range map[string][]string{"identity": nil, "gzip": {"Content-Encoding"}} {
		r := post(t, body, "application/json")
		r.Header.Set("Content-Encoding", encoding)
		var v values
		if got := fields(problems(t, Read(httptest.NewRecorder(), r, 100, v.table()...))); !cmp.Equal(got, want) {
			t.Errorf("%s: %q", encoding, got)
		}
	}
}

// A body of limit bytes is read, one of a byte more is not; one that breaks off is the caller's fault.
func TestBytes(t *testing.T) {
	t.Parallel()
	if got, err := Bytes(httptest.NewRecorder(), post(t, "12345", ""), 5); string(got) != "12345" || err != nil {
		t.Errorf("at the limit: %q, %v", got, err)
	}
	got, err := Bytes(httptest.NewRecorder(), post(t, "123456", ""), 5)
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); !tooLarge || got != nil {
		t.Errorf("beyond the limit: %q, %v", got, err)
	}
	r := post(t, "", "")
	r.Body = brokenBody{}
	_, err = Bytes(httptest.NewRecorder(), r, 5)
	if got := problems(t, err); !cmp.Equal(fields(got), []string{"body"}) || got[0].Reason != cutOff {
		t.Errorf("broken off: %+v", got)
	}
}

// brokenBody is a body whose connection breaks.
type brokenBody struct{}

func (brokenBody) Read([]byte) (int, error) { return 0, errors.New("secret detail") }
func (brokenBody) Close() error             { return nil }

// Whatever comes, decoding ends with the fields filled or with problems, and what it takes encoding/json takes too.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"n":1,"s":"a","t":"2026-01-02T20:00:00Z"}`, `{}`, `[]`, `{"n":1,"n":2}`, `{"n":1e3}`, `{"x":{"n":[1]}}`,
		`{"s":"\ud800"}`, `{"n":1}{}`, ` {"t":"2026-01-02T20:00:00"} `, `{"n":-0}`, "\xff", ``,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var (
			n  int64
			s  string
			at time.Time
		)
		if err := decode(body,
			[]Field{Required(Integer("n", &n)), Text("s", &s), Time("t", &at, time.UTC)}); err != nil {
			if len(problems(t, err)) == 0 {
				t.Errorf("%q: an error without problems", body)
			}
			return
		}
		var std struct {
			N *int64  `json:"n"`
			S *string `json:"s"`
			T *string `json:"t"`
		}
		if err := json.Unmarshal(body, &std); err != nil || std.N == nil || *std.N != n {
			t.Errorf("%q: read as %d, by encoding/json as %+v, %v", body, n, std, err)
		}
		if std.S != nil && *std.S != s || std.S == nil && s != "" ||
			(std.T == nil) != at.IsZero() && !strings.HasPrefix(*std.T, "0001-01-01") {
			t.Errorf("%q: read as %q and %s, by encoding/json as %+v", body, s, at, std)
		}
	})
}
