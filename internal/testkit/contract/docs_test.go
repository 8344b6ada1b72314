package contract

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"html/template"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"seckill/web"
)

var update = flag.Bool("update", false, "write web/docs.html")

// shownTag, shownOperation and the others are what the page shows.
type (
	shownTag struct {
		Name        string
		Description template.HTML
		Operations  []shownOperation
	}
	shownOperation struct {
		ID, Method, Path, Summary string
		Description               template.HTML
		Parameters                []shownParameter
		Request                   *shownBody
		Responses                 []shownResponse
		Examples                  []string
		Samples                   []Sample
		TryIt                     string // the request as JSON; "" for one that a browser cannot make
	}
	shownParameter struct {
		Name, In          string
		Required          bool
		Description, Type template.HTML
	}
	shownBody struct {
		Type     template.HTML
		Examples []string
	}
	shownResponse struct {
		Status            string
		Codes             []string
		Description, Type template.HTML
	}
	shownSchema struct {
		Name              string
		Description, Type template.HTML
	}
)

// TestDocument: the page at /docs is what the description makes of it. With -update it is written.
func TestDocument(t *testing.T) {
	t.Parallel()
	c, err := Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	yaml, err := web.FS.ReadFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("testdata/docs.html.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	page, err := template.New("docs").Parse(string(source))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = page.Execute(&out, map[string]any{
		"Introduction": prose(c.doc.Info.Description), "Tags": c.tags(string(yaml)), "Schemas": c.schemas(),
	})
	if err != nil {
		t.Fatal(err)
	}
	// The pages' own template fills this in.
	want := strings.NewReplacer("[[assets]]", "{{.Assets}}", "[[demo]]",
		"{{if .Demo}}yes{{else}}no{{end}}").Replace(out.String())
	const path = "../../../web/docs.html"
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if is, err := os.ReadFile(path); err != nil || string(is) != want {
		t.Errorf("web/docs.html does not follow openapi.yaml (%v): make docs", err)
	}
}

// TestDocumentNamesRoutesAndCodes: docs/http.md has every described route and code in its tables, and no others.
func TestDocumentNamesRoutesAndCodes(t *testing.T) {
	t.Parallel()
	c, err := Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../../docs/http.md")
	if err != nil {
		t.Fatal(err)
	}
	first := func(heading, pattern string) []string { // what matches in the first cells of the section's table
		_, section, _ := strings.Cut(string(text), "\n## "+heading+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		var all []string
		for _, cell := range regexp.MustCompile(`(?m)^\| ([^|]*) \|`).FindAllStringSubmatch(section, -1) {
			for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(cell[1], -1) {
				all = append(all, match[1])
			}
		}
		slices.Sort(all)
		return slices.Compact(all) // a code has a line for each thing that it can mean
	}
	var routes []string
	for _, o := range c.Operations() {
		path := regexp.MustCompile(`\{(\w+)\}`).ReplaceAllString(o.Path, ":$1")
		routes = append(routes, o.Method+" "+path)
	}
	slices.Sort(routes)
	if diff := cmp.Diff(routes, first("Routes", "`([A-Z]+ /[^`]*)`")); diff != "" {
		t.Errorf("routes of openapi.yaml (-) and docs/http.md (+):\n%s", diff)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(c.Failures())), first("Codes", "`([A-Z_]+)`")); diff != "" {
		t.Errorf("codes of openapi.yaml (-) and docs/http.md (+):\n%s", diff)
	}
}

// tags are the groups of operations, in the description's order.
func (c *Contract) tags(source string) []shownTag {
	tags := make([]shownTag, len(c.doc.Tags))
	for i, tag := range c.doc.Tags {
		tags[i] = shownTag{Name: tag.Name, Description: prose(tag.Description)}
		for _, o := range c.operations {
			if slices.Contains(o.described.Tags, tag.Name) {
				tags[i].Operations = append(tags[i].Operations, o.shown())
			}
		}
		slices.SortFunc(tags[i].Operations, func(a, b shownOperation) int {
			return strings.Index(source, "operationId: "+a.ID+"\n") - strings.Index(source, "operationId: "+b.ID+"\n")
		})
	}
	return tags
}

func (o Operation) shown() shownOperation {
	d := o.described
	s := shownOperation{
		ID: d.OperationID, Method: o.Method, Path: o.Path, Summary: d.Summary, Description: prose(d.Description),
		Samples: o.Samples(), TryIt: o.tryIt(),
	}
	for _, p := range d.Parameters {
		s.Parameters = append(s.Parameters, shownParameter{
			Name: p.Value.Name, In: p.Value.In, Required: p.Value.Required, Description: words(p.Value.Description),
			Type: typeOf(p.Value.Schema),
		})
	}
	if d.RequestBody != nil {
		media := d.RequestBody.Value.Content["application/json"]
		s.Request = &shownBody{Type: fieldsOf(media.Schema), Examples: examplesOf(media)}
	}
	for _, status := range slices.Sorted(maps.Keys(d.Responses.Map())) {
		response := d.Responses.Map()[status].Value
		codes, succeeds := codesOf(response)
		slices.Sort(codes)
		shown := shownResponse{Status: status, Codes: codes, Description: words(*response.Description)}
		if media := response.Content["application/json"]; media != nil && succeeds && media.Schema != nil {
			shown.Type = typeOf(media.Schema)
			if len(s.Examples) == 0 {
				s.Examples = examplesOf(media)[:min(1, len(media.Examples))]
			}
		}
		s.Responses = append(s.Responses, shown)
	}
	return s
}

// tryIt is the sample request as the page makes it.
func (o Operation) tryIt() string {
	r, is := o.sample()
	if !is || r.stream {
		return ""
	}
	whose := "" // the token's role
	switch tags := o.described.Tags; {
	case !r.token:
	case slices.Contains(tags, "Administration"), slices.Contains(tags, "Webhooks"):
		whose = "admin"
	case slices.Contains(tags, "Tills"):
		whose = "till"
	default:
		whose = "buyer"
	}
	text, err := json.Marshal(map[string]any{
		"method": r.method, "target": r.target, "headers": r.header, "token": whose, "body": r.body,
	})
	if err != nil {
		panic(err) // strings
	}
	return string(text)
}

func (c *Contract) schemas() []shownSchema {
	var all []shownSchema
	for _, name := range slices.Sorted(maps.Keys(c.doc.Components.Schemas)) {
		schema := c.doc.Components.Schemas[name]
		all = append(all, shownSchema{
			Name: name, Description: prose(schema.Value.Description),
			Type: fieldsOf(&openapi3.SchemaRef{Value: schema.Value}),
		})
	}
	return all
}

// examplesOf are those of a body that are no failure's, as people write JSON.
func examplesOf(media *openapi3.MediaType) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(media.Examples)) {
		if text, err := json.MarshalIndent(media.Examples[name].Value.Value, "", "  "); err == nil && !isCode(name) {
			all = append(all, string(text))
		}
	}
	return all
}

// fieldsOf is a table of an object's members, or typeOf of anything else.
func fieldsOf(s *openapi3.SchemaRef) template.HTML {
	if s.Ref != "" || len(s.Value.Properties) == 0 {
		return typeOf(s)
	}
	var b strings.Builder
	b.WriteString(`<table><thead><tr><th scope="col">Member</th><th scope="col">Type</th><th scope="col">What it ` +
		`is</th></tr></thead><tbody>`)
	for _, name := range slices.Sorted(maps.Keys(s.Value.Properties)) {
		p := s.Value.Properties[name]
		needed, about := "", ""
		if slices.Contains(s.Value.Required, name) {
			needed = " <em>always</em>"
		}
		if p.Ref == "" {
			about = string(words(p.Value.Description))
		}
		b.WriteString("<tr><td><code>" + html.EscapeString(name) + "</code>" + needed + "</td><td>" +
			string(typeOf(p)) + "</td><td>" + about + "</td></tr>")
	}
	b.WriteString("</tbody></table>")
	return template.HTML(b.String())
}

// typeOf describes in short what a value may be.
func typeOf(s *openapi3.SchemaRef) template.HTML {
	if name, is := strings.CutPrefix(s.Ref, "#/components/schemas/"); is {
		return template.HTML(`<a href="#schema-` + name + `">` + name + `</a>`)
	}
	v := s.Value
	var parts []string
	switch {
	case len(v.AllOf) > 0:
		return typeOf(v.AllOf[0])
	case len(v.OneOf) > 0:
		for _, one := range v.OneOf {
			parts = append(parts, string(typeOf(one)))
		}
		return template.HTML(strings.Join(parts, " or "))
	case v.Items != nil:
		return "list of " + typeOf(v.Items)
	case v.Type == nil:
		return "any"
	}
	parts = append(parts, strings.Join(v.Type.Slice(), ", "))
	for _, value := range v.Enum {
		parts = append(parts, "<code>"+html.EscapeString(fmt.Sprint(value))+"</code>")
	}
	return template.HTML(strings.Join(parts, " "))
}

// prose makes paragraphs of a description, and words what stands in one line.
func prose(text string) template.HTML {
	var b strings.Builder
	for part := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if part != "" {
			b.WriteString("<p>" + string(words(part)) + "</p>\n")
		}
	}
	return template.HTML(b.String())
}

func words(text string) template.HTML {
	text = html.EscapeString(strings.TrimSpace(text))
	text = regexp.MustCompile("`([^`]+)`").ReplaceAllString(text, "<code>$1</code>")
	text = regexp.MustCompile(`\*\*([^*]+)\*\*`).ReplaceAllString(text, "<strong>$1</strong>")
	return template.HTML(text)
}
