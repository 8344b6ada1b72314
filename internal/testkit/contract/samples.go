package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// Sample is an operation's request in a language that people call the service from. It takes the service's address
// from url and a token from token, in a shell URL and TOKEN; in Go it stands in a function with a ctx.
type Sample struct {
	Language string // curl, JavaScript or Go
	Text     string
	Token    bool // it sends the token
	Stream   bool // the answer is an event stream, which goes on
}

// sampleRequest is the request that samples make.
type sampleRequest struct {
	method, target string
	header         [][2]string // without the token's
	token          bool
	stream         bool   // the answer does not end
	body           string // JSON in one line; "" for none
}

// Samples returns the operation's request in each language; none for what is not JSON, and for callbacks, which
// providers make.
func (o Operation) Samples() []Sample {
	r, is := o.sample()
	if !is {
		return nil
	}
	return []Sample{
		{"curl", r.curl(), r.token, r.stream},
		{"JavaScript", r.javaScript(), r.token, r.stream},
		{"Go", r.golang(), r.token, r.stream},
	}
}

// sample returns the operation's request: with each parameter and header that it needs, and the first body that is
// described.
func (o Operation) sample() (sampleRequest, bool) {
	r := sampleRequest{
		method: o.Method, target: o.Path, token: o.described.Security == nil || len(*o.described.Security) > 0,
	}
	if o.described.Security != nil && strings.Contains(fmt.Sprint(*o.described.Security), "callbackSignature") {
		return r, false
	}
	var query []string
	own, _ := o.described.Extensions["x-example"].(map[string]any)
	for _, p := range o.described.Parameters {
		value := parameterValue(p.Value)
		if example, is := own[p.Value.Name]; is {
			value = fmt.Sprint(example)
		}
		switch {
		case p.Value.In == openapi3.ParameterInPath:
			r.target = strings.ReplaceAll(r.target, "{"+p.Value.Name+"}", value)
		case !p.Value.Required:
		case p.Value.In == openapi3.ParameterInQuery:
			query = append(query, p.Value.Name+"="+value)
		case p.Value.In == openapi3.ParameterInHeader:
			r.header = append(r.header, [2]string{p.Value.Name, value})
		}
	}
	if len(query) > 0 {
		r.target += "?" + strings.Join(query, "&")
	}
	for _, response := range o.described.Responses.Map() {
		r.stream = r.stream || response.Value.Content["text/event-stream"] != nil
	}
	if o.described.RequestBody == nil {
		return r, !strings.Contains(r.target, "{")
	}
	media := o.described.RequestBody.Value.Content["application/json"]
	if media == nil {
		return r, false
	}
	r.body = bodyValue(media)
	if r.body != "" {
		r.header = append(r.header, [2]string{"Content-Type", "application/json"})
	}
	return r, true
}

// parameterValue is an example of a parameter: its own, its schema's, or one that its type allows.
func parameterValue(p *openapi3.Parameter) string {
	for _, example := range []any{p.Example, p.Schema.Value.Example} {
		if example != nil {
			return fmt.Sprint(example)
		}
	}
	if p.Schema.Value.Type.Is("integer") {
		return "1"
	}
	return "660000000123456789"
}

// bodyValue is the first example of a body in one line: the media type's, or made of its members' examples.
func bodyValue(media *openapi3.MediaType) string {
	value := media.Example
	for _, name := range slices.Sorted(maps.Keys(media.Examples)) {
		if value == nil {
			value = media.Examples[name].Value.Value
		}
	}
	if value == nil {
		members := map[string]any{}
		for name, p := range media.Schema.Value.Properties {
			if p.Value.Example != nil {
				members[name] = p.Value.Example
			}
		}
		if len(members) == 0 {
			return ""
		}
		value = members
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // it was read from YAML
	}
	return string(text)
}

// lines returns the request's headers as lines, the token's first.
func (r sampleRequest) lines(token, other string) []string {
	var all []string
	if r.token {
		all = append(all, token)
	}
	for _, h := range r.header {
		all = append(all, fmt.Sprintf(other, h[0], h[1]))
	}
	return all
}

func (r sampleRequest) curl() string {
	var b strings.Builder
	b.WriteString("curl")
	if r.stream {
		b.WriteString(" -N")
	}
	if r.method != "GET" {
		b.WriteString(" -X " + r.method)
	}
	b.WriteString(` "$URL` + r.target + `"`)
	for _, line := range r.lines(`-H "Authorization: Bearer $TOKEN"`, "-H '%s: %s'") {
		b.WriteString(" \\\n  " + line)
	}
	if r.body != "" {
		b.WriteString(" \\\n  -d '" + strings.ReplaceAll(r.body, "'", `'\''`) + "'")
	}
	return b.String()
}

func (r sampleRequest) javaScript() string {
	var b strings.Builder
	b.WriteString("const answer = await fetch(`${url}" + r.target + "`")
	var options []string
	if r.method != "GET" {
		options = append(options, "  method: '"+r.method+"',\n")
	}
	if headers := r.lines("Authorization: `Bearer ${token}`", "'%s': '%s'"); len(headers) > 0 {
		options = append(options, "  headers: { "+strings.Join(headers, ", ")+" },\n")
	}
	if r.body != "" {
		options = append(options, "  body: JSON.stringify("+spaced(r.body)+"),\n")
	}
	if len(options) > 0 {
		b.WriteString(", {\n" + strings.Join(options, "") + "}")
	}
	if r.stream {
		b.WriteString(");\nconsole.log(answer.status);\nfor await (const part of answer.body.pipeThrough(new " +
			"TextDecoderStream())) console.log(part);")
	} else {
		b.WriteString(");\nconsole.log(answer.status, await answer.text());")
	}
	return b.String()
}

func (r sampleRequest) golang() string {
	var b strings.Builder
	body := "nil"
	if r.body != "" {
		body = "strings.NewReader(`" + r.body + "`)"
	}
	method := "http.Method" + r.method[:1] + strings.ToLower(r.method[1:])
	fmt.Fprintf(&b, "r, err := http.NewRequestWithContext(ctx, %s, url+%s, %s)\n",
		method, strconv.Quote(r.target), body)
	b.WriteString("if err != nil {\n\treturn err\n}\n")
	for _, line := range r.lines(`r.Header.Set("Authorization", "Bearer "+token)`, `r.Header.Set("%s", "%s")`) {
		b.WriteString(line + "\n")
	}
	b.WriteString("answer, err := http.DefaultClient.Do(r)\nif err != nil {\n\treturn err\n}\n" +
		"defer answer.Body.Close()\n")
	if r.stream {
		b.WriteString("fmt.Println(answer.StatusCode)\n_, err = io.Copy(os.Stdout, answer.Body)\nreturn err")
	} else {
		b.WriteString("text, err := io.ReadAll(answer.Body)\nfmt.Println(answer.StatusCode, string(text))\nreturn err")
	}
	return b.String()
}

var memberName = regexp.MustCompile(`"([A-Za-z]\w*)":`)

// spaced writes JSON as people write JavaScript.
func spaced(text string) string {
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(text), "", ""); err != nil {
		return text
	}
	return memberName.ReplaceAllString(strings.ReplaceAll(b.String(), "\n", " "), "$1:")
}
