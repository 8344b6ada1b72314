// Package contract compares the service's answers with the description of its HTTP interface, web/openapi.yaml. It is
// for tests only.
//
// An answer conforms if its route and status are described, all required headers are present, its body has the
// described type and no undescribed member, and a failure's code is listed for the status (as the name of an example).
// The request of a success must conform as well: otherwise the description would demand more than the service does.
//
// A request for an undescribed path or method must get 404 NOT_FOUND or 405 METHOD. Pages and their assets, which all
// have a Content-Security-Policy, and the operations listener are exempt.
package contract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"seckill/web"
)

// Contract is the parsed description. It is safe for concurrent use.
type Contract struct {
	doc        *openapi3.T
	operations []Operation
}

// Operation is one described operation.
type Operation struct {
	Method string
	Path   string // as described: /voucher/{id}

	segments  []string
	described *openapi3.Operation
	query     []string
}

// Exchange is a request and its complete answer.
type Exchange struct {
	Request     *http.Request // its body is not read
	RequestBody []byte        // nil if unknown
	Status      int
	Header      http.Header
	Body        []byte
}

// Load reads the description. It returns an error if the description or one of its examples is invalid.
func Load(ctx context.Context) (*Contract, error) {
	text, err := web.FS.ReadFile("openapi.yaml")
	if err != nil {
		return nil, err
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, fmt.Errorf("web/openapi.yaml: %w", err)
	}
	if err := doc.Validate(ctx, openapi3.EnableExamplesValidation()); err != nil {
		return nil, fmt.Errorf("web/openapi.yaml: %w", err)
	}
	c := &Contract{doc: doc}
	for path, item := range doc.Paths.Map() {
		for method, described := range item.Operations() {
			described.Parameters = append(described.Parameters, item.Parameters...)
			c.operations = append(c.operations, Operation{
				Method: method, Path: path, segments: strings.Split(path, "/"), described: described,
				query: queryOf(doc, described),
			})
		}
	}
	// A fixed order, with literal segments before parameters: "/voucher/seckill" before "/voucher/{id}".
	slices.SortFunc(c.operations, func(a, b Operation) int {
		return strings.Compare(strings.ReplaceAll(a.Path, "{", "~")+a.Method,
			strings.ReplaceAll(b.Path, "{", "~")+b.Method)
	})
	return c, nil
}

// Operations returns every described operation.
func (c *Contract) Operations() []Operation { return c.operations }

// Failures returns a copy of the example problem documents, by code.
func (c *Contract) Failures() map[string]map[string]any {
	all := map[string]map[string]any{}
	for name, example := range c.doc.Components.Examples {
		if value, isObject := example.Value.Value.(map[string]any); isObject && isCode(name) {
			all[name] = maps.Clone(value)
		}
	}
	return all
}

// Outcomes returns every described status and code of the operation, as "409 SOLD_OUT"; a success is only its status.
func (o Operation) Outcomes() []string {
	var all []string
	for status, response := range o.described.Responses.Map() {
		codes, succeeds := codesOf(response.Value)
		if succeeds {
			all = append(all, status)
		}
		for _, code := range codes {
			all = append(all, status+" "+code)
		}
	}
	slices.Sort(all)
	return all
}

// TakesBody reports whether the operation's request has or may have a body.
func (o Operation) TakesBody() bool {
	return o.described.RequestBody != nil || o.described.Extensions["x-body"] != nil
}

// TakesKey reports whether the operation's request may have an Idempotency-Key that makes a difference.
func (o Operation) TakesKey() bool {
	return slices.ContainsFunc(o.described.Parameters, func(p *openapi3.ParameterRef) bool {
		return p.Value.In == openapi3.ParameterInHeader && p.Value.Name == "Idempotency-Key"
	})
}

// IgnoresUnknown reports whether the operation ignores undescribed names in its requests.
func (o Operation) IgnoresUnknown() bool { return o.described.Extensions["x-ignores-unknown"] == true }

// Query returns the sorted names of the operation's query parameters.
func (o Operation) Query() []string { return o.query }

// queryOf returns the names of an operation's query parameters, including tokens that may be in the query.
func queryOf(doc *openapi3.T, described *openapi3.Operation) []string {
	var names []string
	for _, p := range described.Parameters {
		if p.Value.In == openapi3.ParameterInQuery {
			names = append(names, p.Value.Name)
		}
	}
	if described.Security != nil {
		for _, one := range *described.Security {
			for name := range one {
				if s := doc.Components.SecuritySchemes[name].Value; s.In == openapi3.ParameterInQuery {
					names = append(names, s.Name)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

// Find returns the operation that a request is for, if any. HEAD is treated as GET.
func (c *Contract) Find(method, path string) (Operation, bool) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	segments := strings.Split(path, "/")
	for _, o := range c.operations {
		if o.Method == method && o.matches(segments) {
			return o, true
		}
	}
	return Operation{}, false
}

func (o Operation) matches(segments []string) bool {
	return slices.EqualFunc(o.segments, segments, func(described, given string) bool {
		return described == given || strings.HasPrefix(described, "{")
	})
}

// Check returns all differences between the exchange and the description, or nil. It ignores answers to CORS preflight
// requests, which the description omits.
func (c *Contract) Check(x Exchange) error {
	if x.Request.Method == http.MethodOptions && x.Status == http.StatusNoContent {
		return nil
	}
	o, found := c.Find(x.Request.Method, x.Request.URL.Path)
	if !found {
		return c.checkUndescribed(x)
	}
	response := o.described.Responses.Status(x.Status)
	if response == nil && x.Status == http.StatusNotFound && o.described.Extensions["x-optional"] == true {
		return c.checkUndescribed(x)
	}
	if response == nil {
		return fmt.Errorf("%s %s: status %d is not described: %s", o.Method, o.Path, x.Status, x.Body)
	}
	errs := []error{checkHeaders(response.Value, x), c.checkBody(response.Value, x)}
	if x.Status < http.StatusBadRequest {
		errs = append(errs, o.checkRequest(x))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%s %s, answered %d %s: %w", o.Method, o.Path, x.Status, x.Body, err)
	}
	return nil
}

// checkUndescribed checks the answer to an undescribed request.
func (c *Contract) checkUndescribed(x Exchange) error {
	path := x.Request.URL.Path
	if x.Header.Get("Content-Security-Policy") != "" || path == "/metrics" || strings.HasPrefix(path, "/debug/pprof/") {
		return nil
	}
	answer := strings.TrimSpace(strconv.Itoa(x.Status) + " " + CodeOf(x.Body)) // HEAD has no body
	switch answer {
	case "404 NOT_FOUND", "404", "413 TOO_LARGE", "413":
		return nil
	case "405 METHOD", "405":
		if x.Header.Get("Allow") == "" {
			return fmt.Errorf("%s %s: 405 without Allow", x.Request.Method, x.Request.URL.Path)
		}
		return nil
	default:
		return fmt.Errorf("%s %s is not described, and is answered %s", x.Request.Method, x.Request.URL.Path, answer)
	}
}

// checkHeaders checks the described headers.
func checkHeaders(r *openapi3.Response, x Exchange) error {
	var errs []error
	for name, header := range r.Headers {
		given := x.Header.Get(name)
		if given == "" {
			if header.Value.Required {
				errs = append(errs, fmt.Errorf("no header %s", name))
			}
			continue
		}
		var value any = given
		if n, err := strconv.ParseFloat(given, 64); err == nil && header.Value.Schema.Value.Type.Is("integer") {
			value = n
		}
		if err := header.Value.Schema.Value.VisitJSON(value); err != nil {
			errs = append(errs, fmt.Errorf("header %s: %w", name, err))
		}
	}
	if r.Headers["Location"] == nil && x.Header.Get("Location") != "" {
		errs = append(errs, errors.New("a Location is not described"))
	}
	return errors.Join(errs...)
}

// checkBody checks type, shape and code of the body.
func (c *Contract) checkBody(r *openapi3.Response, x Exchange) error {
	if x.Request.Method == http.MethodHead {
		return nil
	}
	if len(r.Content) == 0 {
		if len(x.Body) > 0 {
			return errors.New("a body is not described")
		}
		return nil
	}
	kind, _, err := mime.ParseMediaType(x.Header.Get("Content-Type"))
	if err != nil {
		return fmt.Errorf("Content-Type: %w", err)
	}
	media, described := r.Content[kind]
	switch {
	case !described:
		return fmt.Errorf("the type %s is not described", kind)
	case kind == "text/event-stream":
		return c.checkEvents(x.Body)
	case !strings.HasSuffix(kind, "json"):
		return nil
	}
	if err := checkJSON(media.Schema.Value, x.Body); err != nil {
		return err
	}
	if code := CodeOf(x.Body); code != "" && media.Examples[code] == nil {
		return fmt.Errorf("the code %s is not described for this status", code)
	}
	return nil
}

// checkEvents checks the data of server-sent events.
func (c *Contract) checkEvents(body []byte) error {
	schemas := map[string]string{"order": "Order", "bye": "Bye", "figures": "SaleFigures", "away": "Away"}
	event := ""
	for line := range strings.Lines(string(body)) {
		name, value, _ := strings.Cut(strings.TrimRight(line, "\n"), ": ")
		switch name {
		case "event":
			if event = value; schemas[event] == "" {
				return fmt.Errorf("the event %q is not described", event)
			}
		case "data":
			if err := checkJSON(c.doc.Components.Schemas[schemas[event]].Value, []byte(value)); err != nil {
				return fmt.Errorf("event %s: %w", event, err)
			}
		}
	}
	return nil
}

// checkRequest checks the request: its body and the required parameters.
func (o Operation) checkRequest(x Exchange) error {
	for _, p := range o.described.Parameters {
		if p.Value.In == openapi3.ParameterInHeader && p.Value.Required && x.Request.Header.Get(p.Value.Name) == "" {
			return fmt.Errorf("the request succeeded without the header %s", p.Value.Name)
		}
	}
	if o.described.RequestBody == nil || x.RequestBody == nil {
		return nil
	}
	schema := o.described.RequestBody.Value.Content["application/json"].Schema.Value
	if err := checkJSON(schema, x.RequestBody); err != nil {
		return fmt.Errorf("the request succeeded but differs from its description: %w", err)
	}
	return nil
}

func checkJSON(schema *openapi3.Schema, text []byte) error {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return fmt.Errorf("%.200q is not JSON: %w", text, err)
	}
	return schema.VisitJSON(value, openapi3.MultiErrors())
}

// CodeOf returns the code in the body of an answer; "" when there is none.
func CodeOf(body []byte) string {
	var p struct {
		Code string `json:"code"`
	}
	_ = json.Unmarshal(body, &p) // a body that is not JSON has no code
	return p.Code
}

// codesOf returns the codes that a response lists (as names of examples), and whether it may also have no code.
func codesOf(r *openapi3.Response) (codes []string, plain bool) {
	plain = true
	for _, media := range r.Content {
		for name := range media.Examples {
			if isCode(name) {
				codes = append(codes, name)
			}
		}
		plain = len(codes) < len(media.Examples) || len(codes) == 0
	}
	return codes, plain
}

// isCode reports whether an example's name is a failure's code.
func isCode(name string) bool { return name == strings.ToUpper(name) }
