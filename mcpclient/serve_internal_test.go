package mcpclient

import (
	"strings"
	"testing"
)

// What a person answered is not told along with that it does not fit.
func TestMisfitIsNotTold(t *testing.T) {
	p := &ElicitParams{Mode: ElicitForm, RequestedSchema: []byte(`{"type":"object","properties":{"age":{"type":"integer"}}}`)}
	_, err := p.Complete(&ElicitResult{Action: ElicitAccept, Content: map[string]any{"my-secret": 1}})
	if err == nil || !strings.Contains(err.Error(), "my-secret") {
		t.Fatalf("got %v, want the field", err)
	}
	wire := string(responseTo([]byte("1"), nil, err))
	if want := `{"code":-32603,"message":"the answer does not fit the form"}`; !strings.Contains(wire, want) {
		t.Errorf("got %s, want %s", wire, want)
	}
}
