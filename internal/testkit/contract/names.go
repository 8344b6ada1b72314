package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// Names are the names in the description with their types. Each name must mean one thing wherever it occurs; the rules
// are in docs/http.md.
type Names struct {
	doc      *openapi3.T
	types    map[string][]string // sorted JSON types, by name
	problems []string
	files    []fileAt
}

// fileAt is an example of a CSV file, with the path of the operation that answers with it.
type fileAt struct{ path, text string }

// Names returns the names in the description, and an error if any of them does not mean one thing everywhere.
func (c *Contract) Names() (*Names, error) {
	n := namesOf(c.doc)
	if len(n.problems) > 0 {
		slices.Sort(n.problems)
		return n, errors.New(strings.Join(slices.Compact(n.problems), "\n"))
	}
	return n, nil
}

// ids returns the JSON type of each reference to a resource.
func ids() map[string]string {
	return map[string]string{
		"orderId": "string", "paymentId": "string", "eventId": "string", "entryId": "string",
		"requestId": "string", "reservationId": "string",
		"voucherId": "integer", "shopId": "integer", "userId": "integer", "adminId": "integer", "webhookId": "integer",
	}
}

// twice returns the names that may have two JSON types, each with the reason.
func twice() map[string]string {
	const counted = "a number of things, and the things themselves or more numbers of them"
	return map[string]string{
		"data": "what the answer is", "id": "the resource's own",
		"status":  "an order's; of a voucher on its shelf and of HTTP a number",
		"type":    "an event's or a problem's; of a voucher a number",
		"subject": "an event's; of an account a provider's word",
		"expired": counted, "left": counted, "orders": counted, "paid": counted, "payments": counted,
		"recorded": counted, "refused": counted, "sales": counted, "sold": counted, "units": counted, "unpaid": counted,
		"perAddress": "units, and a rate", "perNetwork": "units, and a rate", "perUser": "units, and a rate",
	}
}

// namesOf walks the whole description.
func namesOf(doc *openapi3.T) *Names {
	n := &Names{doc: doc, types: map[string][]string{}}
	for name, ref := range doc.Components.Schemas {
		// Answers are visited below, from their top: an amount's currency may be in a parent.
		n.visit(schemaAt{path: name, schema: ref.Value, currency: true})
		n.checkOwn(name, ref.Value)
	}
	for path, item := range doc.Paths.Map() {
		for method, o := range item.Operations() {
			for _, p := range slices.Concat(o.Parameters, item.Parameters) {
				n.parameter(path, p.Value)
			}
			at := schemaAt{path: method + " " + path}
			if o.RequestBody != nil {
				at.currency = true // requests need none: their amounts are in the service's currency
				n.visitContent(at, o.RequestBody.Value.Content)
			}
			for _, r := range o.Responses.Map() {
				n.visitContent(schemaAt{path: at.path, answer: true}, r.Value.Content)
			}
		}
	}
	for name, types := range n.types {
		if (len(types) > 1) != (twice()[name] != "") {
			n.wrong(name, "has the types %v; the reason of those with two: %q", types, twice()[name])
		}
	}
	for _, f := range n.files {
		head, line := columnsOf(f.text)
		if err := n.CheckCSV(head, line); err != nil {
			n.wrong(f.path, "%v", err)
		}
	}
	return n
}

// columnsOf returns the column names of an example file, and a value for each: its first two lines, or, if the file has
// one figure per line, all lines.
func columnsOf(text string) (names, values []string) {
	lines := strings.Split(text, "\n")
	if lines[0] != "figure,value" {
		return strings.Split(lines[0], ","), strings.Split(lines[1], ",")
	}
	for _, line := range lines[1:] {
		if name, value, is := strings.Cut(line, ","); is && !strings.HasPrefix(name, "#") {
			names, values = append(names, name), append(values, value)
		}
	}
	return names, values
}

func (n *Names) wrong(path, format string, args ...any) {
	n.problems = append(n.problems, path+" "+fmt.Sprintf(format, args...))
}

// schemaAt is a schema with its place in the description.
type schemaAt struct {
	path     string
	schema   *openapi3.Schema
	answer   bool // the schema is part of an answer
	currency bool // the schema or a parent has a member currency
}

func (n *Names) visitContent(at schemaAt, content openapi3.Content) {
	for kind, media := range content {
		if kind == "text/csv" && media.Example != nil {
			n.files = append(n.files, fileAt{at.path, fmt.Sprint(media.Example)})
		}
		at.schema = media.Schema.Value
		n.visit(at)
	}
}

// visit checks the properties of a schema and of the schemas in it. It skips the parameters that ALTCHA defines.
func (n *Names) visit(at schemaAt) {
	if at.schema == nil || strings.HasSuffix(at.path, ".challenge.parameters") ||
		at.path == "AltchaChallenge.parameters" {
		return
	}
	_, has := at.schema.Properties["currency"]
	at.currency = at.currency || has
	for _, part := range slices.Concat(at.schema.AllOf, at.schema.OneOf) {
		n.visit(schemaAt{at.path, part.Value, at.answer, at.currency})
	}
	if at.schema.Items != nil {
		n.visit(schemaAt{at.path, at.schema.Items.Value, at.answer, at.currency})
	}
	for name, ref := range at.schema.Properties {
		inner := schemaAt{at.path + "." + name, ref.Value, at.answer, at.currency}
		n.property(name, inner, ref)
		n.visit(inner)
	}
}

// property checks the type of a property.
func (n *Names) property(name string, at schemaAt, ref *openapi3.SchemaRef) {
	s, named := whole(ref)
	n.add(name, s)
	if err := n.meaning(name, s, named); err != nil {
		n.wrong(at.path, "%v", err)
	}
	switch {
	case isMoney(name) && !at.currency:
		n.wrong(at.path, "has no currency beside it or above it")
	case isTime(name) && at.answer && named != "Time" && !strings.Contains(at.path, ".changes."):
		n.wrong(at.path, "is a time, and not of the schema Time")
	}
}

// whole returns a property's schema, and its name if it has one. It unwraps an allOf that only adds a description.
func whole(ref *openapi3.SchemaRef) (s *openapi3.Schema, name string) {
	for ref.Ref == "" && ref.Value.Type == nil && len(ref.Value.AllOf) == 1 {
		ref = ref.Value.AllOf[0]
	}
	return ref.Value, ref.Ref[strings.LastIndex(ref.Ref, "/")+1:]
}

// add notes the type of a name.
func (n *Names) add(name string, s *openapi3.Schema) {
	if s.Type == nil {
		return
	}
	kind := (*s.Type)[0]
	if kind == "number" {
		kind = "integer" // both are numbers in JSON
	}
	if types := n.types[name]; !slices.Contains(types, kind) {
		n.types[name] = slices.Sorted(slices.Values(append(types, kind)))
	}
}

// meaning checks that a property's name and its schema agree, in both directions: ids, money, times and durations.
func (n *Names) meaning(name string, s *openapi3.Schema, named string) error {
	whole := s.Type != nil && s.Type.Is("integer") && s.Format == "int64"
	isID := strings.HasSuffix(name, "Id")
	switch {
	case !nameText.MatchString(name):
		return errors.New("is no name in lower camel case")
	case isID && ids()[name] == "integer" && !whole, isID && ids()[name] == "string" && !s.Type.Is("string"),
		isID && ids()[name] == "":
		return fmt.Errorf("is an id, which is a %q, not %v %s", ids()[name], s.Type, s.Format)
	case name == "orderId" && named != "OrderId", name == "currency" && named != "Currency":
		return fmt.Errorf("is of the schema %q", named)
	case isMoney(name) && !whole, named == "Cents" && !isMoney(name):
		return fmt.Errorf("is money in name and type, or in neither: %v %s", s.Type, s.Format)
	case (named == "Time" || s.Format == "date-time") && !isTime(name):
		return errors.New("is a time, and its name does not say so")
	case isTime(name) && !s.Type.Is("string"), lasts.MatchString(name) && !s.Type.Is("integer") && !s.Type.Is("number"):
		return fmt.Errorf("is a time, or how long something lasts, and of the type %v", s.Type)
	}
	return nil
}

var (
	nameText  = regexp.MustCompile(`^[a-z][a-zA-Z0-9]*$`)
	timeName  = regexp.MustCompile(`(Time|Before|Until|From|Since)$|^(at|until|since|from|to)$`)
	moneyName = regexp.MustCompile(`(^amount|Amount|^payValue|^actualValue|^revenue)$`)
	lasts     = regexp.MustCompile(`(Days|Minutes|Seconds|Ms|Micros)$`)
	timeText  = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
	number    = regexp.MustCompile(`^-?\d+$`)
)

func isTime(name string) bool  { return timeName.MatchString(name) }
func isMoney(name string) bool { return moneyName.MatchString(name) }

// parameter checks a parameter in the query or the path.
func (n *Names) parameter(path string, p *openapi3.Parameter) {
	if p.In == openapi3.ParameterInHeader {
		return
	}
	s, named := whole(p.Schema)
	n.add(p.Name, s)
	if err := n.meaning(p.Name, s, named); err != nil {
		n.wrong(path+"?"+p.Name, "%v", err)
	}
	if p.In != openapi3.ParameterInPath || p.Name != "id" {
		return
	}
	before, _, _ := strings.Cut(path, "/{id}")
	before = strings.TrimPrefix(before, "/admin")
	words := strings.Split(strings.ReplaceAll(before, "voucher-order", "voucher"), "/")
	for _, word := range slices.Backward(words) {
		if want := ids()[word+"Id"]; want != "" {
			if !s.Type.Is(want) {
				n.wrong(path, "has an id of the type %v, want %s", s.Type, want)
			}
			return
		}
	}
}

// checkOwn checks a resource's own id: it is called id, and of the type of the references to it.
func (n *Names) checkOwn(resource string, s *openapi3.Schema) {
	name := strings.ToLower(resource[:1]) + resource[1:] + "Id"
	id, has := s.Properties["id"]
	if want := ids()[name]; has && want != "" && !id.Value.Type.Is(want) {
		n.wrong(resource, "has an id of the type %v, and others refer to it by a %s", id.Value.Type, want)
	}
	if _, twice := s.Properties[name]; twice {
		n.wrong(resource, "calls its own id %s", name)
	}
}

// CheckJSON checks an undescribed object, such as an event: each of its names must have the description's meaning. The
// names in more are allowed, too.
func (n *Names) CheckJSON(body []byte, more ...string) error {
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return fmt.Errorf("%s is not JSON: %w", body, err)
	}
	return n.checkValue("", value, false, more)
}

func (n *Names) checkValue(path string, value any, currency bool, more []string) (err error) {
	members, _ := value.(map[string]any)
	_, has := members["currency"]
	for _, name := range slices.Sorted(maps.Keys(members)) {
		at, v := path+"."+name, members[name]
		text, isText := v.(string)
		amount, isNumber := v.(float64)
		kind := map[bool]string{isText: "string", isNumber: "integer"}[true]
		switch types := n.types[name]; {
		case slices.Contains(more, name):
		case len(types) == 0:
			err = errors.Join(err, fmt.Errorf("%s is in no other answer", at))
		case kind != "" && !slices.Contains(types, kind):
			err = errors.Join(err, fmt.Errorf("%s is a %s, elsewhere %v", at, kind, types))
		}
		if isTime(name) && !timeText.MatchString(text) {
			err = errors.Join(err, fmt.Errorf("%s is %v, which is no time with milliseconds", at, v))
		}
		if isMoney(name) && (!isNumber || amount != float64(int64(amount)) || !has && !currency) {
			err = errors.Join(err, fmt.Errorf("%s is %v: no amount, or without a currency", at, v))
		}
		err = errors.Join(err, n.checkValue(at, v, has || currency, more))
	}
	return err
}

// CheckCSV checks the header and one line of a file. Each column is named like a member, or by the path to it.
func (n *Names) CheckCSV(head, line []string) (err error) {
	if len(head) != len(line) {
		return fmt.Errorf("%d heads for %d cells", len(head), len(line))
	}
	money := false
	for i, column := range head {
		path := strings.Split(column, ".")
		for _, name := range path {
			if len(n.named(name)) == 0 {
				err = errors.Join(err, fmt.Errorf("%s: no answer has the name %s", column, name))
			}
		}
		name, cell := path[len(path)-1], line[i]
		money = money || isMoney(name)
		if cell != "" && (isTime(name) && !timeText.MatchString(cell) || isMoney(name) && !number.MatchString(cell)) {
			err = errors.Join(err, fmt.Errorf("%s is %s", column, cell))
		}
	}
	if money && !slices.Contains(head, "currency") {
		err = errors.Join(err, errors.New("amounts without a currency"))
	}
	return err
}

// named returns the types of a name. A code is the key of a count, so its type is integer.
func (n *Names) named(name string) []string {
	if isCode(name) {
		return []string{"integer"}
	}
	return n.types[name]
}
