package adapter

import (
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// A toolset that starts its servers lazily may also have one that is connected already.
func TestLazyToolsetWithAClient(t *testing.T) {
	lazily := (&Options{Policy: Policy{Start: StartLazy}}).withDefaults()
	for want, s := range map[Start]*Server{
		StartLazy:      {Name: "s", Transport: transportFunc(unreachable)},
		StartAvailable: {Name: "s", Client: new(mcpclient.Client)},
		StartRequired:  {Name: "s", Client: new(mcpclient.Client), Policy: Policy{Start: StartRequired}},
	} {
		check.Equal(t, "start", newServerState(lazily, s).policy.Start, want)
	}
}
