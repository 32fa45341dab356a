package apps_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func TestReadToolMeta(t *testing.T) {
	long := "ui://" + strings.Repeat("x", 3000)
	for _, tt := range []struct {
		meta string
		want apps.ToolMeta
		bad  bool
	}{
		{``, apps.ToolMeta{ForModel: true, ForViews: true}, false},
		{`{}`, apps.ToolMeta{ForModel: true, ForViews: true}, false},
		{`{"ui":{}}`, apps.ToolMeta{ForModel: true, ForViews: true}, false},
		{`{"ui":null}`, apps.ToolMeta{ForModel: true, ForViews: true}, false},
		{`{"ui":"x"}`, apps.ToolMeta{ForModel: true, ForViews: true}, false},
		{`{"ui":{"resourceUri":"ui://s/v","visibility":null}}`, apps.ToolMeta{"ui://s/v", true, true}, false},
		{`{"ui":{"resourceUri":"ui://s/v","visibility":["app"]}}`, apps.ToolMeta{"ui://s/v", false, true}, false},
		{`{"ui":{"visibility":["model","x"]}}`, apps.ToolMeta{ForModel: true}, false},
		{`{"ui":{"visibility":["app","model"]}}`, apps.ToolMeta{ForModel: true, ForViews: true}, false},
		{`{"ui":{"visibility":[]}}`, apps.ToolMeta{}, false},
		{`{"ui":{"visibility":["Model"]}}`, apps.ToolMeta{}, false},
		{`{"ui":{"Visibility":["app"]}}`, apps.ToolMeta{ForModel: true, ForViews: true}, false},
		{`{"ui":{"visibility":["model"]},"ui":{"visibility":["app"]}}`, apps.ToolMeta{ForViews: true}, false},
		{`{"\u0075i":{"visibility":["app"]}}`, apps.ToolMeta{ForViews: true}, false},
		{`{"ui":{"visibility":"app"}}`, apps.ToolMeta{}, true},
		{`{"ui":{"visibility":[1]}}`, apps.ToolMeta{}, true},
		{`{"ui":{"visibility":{"app":true}}}`, apps.ToolMeta{}, true},
		{`{"ui/resourceUri":"ui://s/old"}`, apps.ToolMeta{"ui://s/old", true, true}, false},
		{`{"ui/resourceUri":"ui://s/old","ui":{"resourceUri":"ui://s/new"}}`, apps.ToolMeta{"ui://s/new", true, true}, false},
		{`{"ui":{"resourceUri":"https://example.com/"}}`, apps.ToolMeta{ForModel: true, ForViews: true}, true},
		{`{"ui":{"resourceUri":"UI://s/v"}}`, apps.ToolMeta{ForModel: true, ForViews: true}, true},
		{`{"ui":{"resourceUri":7}}`, apps.ToolMeta{ForModel: true, ForViews: true}, true},
		{`{"ui":{"resourceUri":"` + long + `"}}`, apps.ToolMeta{ForModel: true, ForViews: true}, true},
	} {
		got, err := apps.ReadToolMeta(&mcp.Tool{Meta: json.RawMessage(tt.meta)})
		check.That(t, got == tt.want && (err != nil) == tt.bad, "%.80s: got %+v and %v, want %+v", tt.meta, got, err, tt.want)
	}
}
