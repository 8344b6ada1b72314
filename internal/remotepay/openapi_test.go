package remotepay_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"seckill/internal/remotepay"
)

// TestOpenAPI holds web/provider.yaml to what is sent and taken.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../web/provider.yaml")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	of := func(name string) *openapi3.Schema { return doc.Components.Schemas[name].Value }
	bySchema := map[string]string{
		"payment.begin": "Begin", "payment.cancel": "Cancel", "refund.create": "Refund", "refund.read": "Refund",
	}
	const answers = `{"url":"https://p.example/1","reference":"ch_1","state":"done"}`
	var sent []string
	p, _ := open(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m map[string]any
		if err := json.Unmarshal(body, &m); err != nil {
			t.Error(err)
		}
		kind, _ := m["type"].(string)
		sent = append(sent, kind)
		if err := of(bySchema[kind]).VisitJSON(m); err != nil {
			t.Errorf("%s: %v", body, err)
		}
		data, _ := m["data"].(map[string]any)
		for member := range data {
			if of(bySchema[kind]).Properties["data"].Value.Properties[member] == nil {
				t.Errorf("%s: %s is not described", kind, member)
			}
		}
		_, _ = io.WriteString(w, answers)
	})
	for _, call := range calls(t.Context(), p) {
		if _, err := call(); err != nil {
			t.Error(err)
		}
	}
	slices.Sort(sent)
	if !slices.Equal(sent, slices.Sorted(slices.Values(remotepay.Calls()))) {
		t.Errorf("%v was sent", sent)
	}
	for _, c := range []struct {
		schema, body string
		fits         bool
	}{
		{"Answer", answers, true},
		{"Answer", `{"state":"refused","reason":"closed"}`, true},
		{"Answer", `{"state":"maybe"}`, false},
		{"Notice", `{"type":"paid","timestamp":"2026-11-11T20:00:00Z","data":{"id":"p","amount":1}}`, true},
		{"Notice", `{"type":"refund","data":{"id":"p","refundId":"p-1","amount":5,"state":"failed"}}`, true},
		{"Notice", `{"type":"paid","data":{"amount":1000}}`, false},
		{"Notice", `{"type":"paid","data":{"id":"p","amount":0.5}}`, false},
	} {
		var body any
		if err := json.Unmarshal([]byte(c.body), &body); err != nil {
			t.Fatal(err)
		}
		if err := of(c.schema).VisitJSON(body); (err == nil) != c.fits {
			t.Errorf("%s %s: %v", c.schema, c.body, err)
		}
	}
}
