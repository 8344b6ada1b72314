package apitest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/testkit/contract"
)

// stranger is a name that no route knows.
const stranger = "qty"

// askStrangely sends undescribed names in the query and in the body: a strict route must refuse and name them, and any
// other must answer as if they were absent. The route's own row lists the names that it knows, as the description does.
func (p *provoker) askStrangely(t *testing.T, open func(State) http.Handler, good Request) {
	t.Helper()
	r, o := p.route, p.operation
	if r.Strict() == o.IgnoresUnknown() {
		t.Errorf("it is strict: %t, and x-ignores-unknown is %t", r.Strict(), o.IgnoresUnknown())
	}
	if diff := cmp.Diff(o.Query(), slices.Sorted(slices.Values(r.Query))); diff != "" {
		t.Errorf("names in the query, described (-) and in the route's row (+):\n%s", diff)
	}
	if r.Strict() && r.Body != o.TakesBody() {
		t.Errorf("its row says of a body %t, its description %t", r.Body, o.TakesBody())
	}
	if good.Target == "" {
		good.Target = r.Path
	}
	plain := p.ask(t, open(State{}), good).Code
	inQuery := good
	if inQuery.Target += "?"; strings.Contains(good.Target, "?") {
		inQuery.Target = good.Target + "&"
	}
	inQuery.Target += stranger + "=3"
	asked := map[string]Request{"query": inQuery}
	if r.Method != http.MethodGet {
		inBody := good
		inBody.Body = withMember(t, good.Body)
		asked["body"] = inBody
	}
	for where, req := range asked {
		w := p.ask(t, open(State{}), req)
		refused := w.Code == http.StatusBadRequest && contract.CodeOf(w.Body.Bytes()) == "INVALID" &&
			strings.Contains(w.Body.String(), `"field":"`+stranger+`"`)
		if r.Strict() && !refused || !r.Strict() && w.Code != plain {
			t.Errorf("an unknown name in the %s: %d %s", where, w.Code, w.Body)
		}
	}
	if r.Method == http.MethodGet || good.Body != "" {
		return
	}
	for _, good.Body = range []string{"{}", "null", " "} { // count as no body
		if w := p.ask(t, open(State{}), good); w.Code != plain {
			t.Errorf("with %q: %d %s", good.Body, w.Code, w.Body)
		}
	}
}

// withMember returns a JSON object ("" means an empty one) with one more member.
func withMember(t *testing.T, object string) string {
	t.Helper()
	members := map[string]any{}
	if object != "" {
		if err := json.Unmarshal([]byte(object), &members); err != nil {
			t.Fatal(err)
		}
	}
	members[stranger] = 3
	body, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
