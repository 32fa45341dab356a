package adapter

import (
	"math"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
)

// A server's policy overrides the toolset's field by field, also with "no limit".
func TestPolicyOfAServer(t *testing.T) {
	common := &Options{Policy: Policy{CallTimeout: time.Minute, MaxResult: 1000, Trust: TrustFull, Start: StartAvailable}}
	got := newServerState(common.withDefaults(), &Server{Policy: Policy{CallTimeout: -1, ConnectTimeout: -1, MaxResult: -1, Trust: TrustNone}}).policy
	check.Same(t, "policy", got, Policy{CallTimeout: -1, MaxResult: math.MaxInt, Trust: TrustNone, Start: StartAvailable, ConnectTimeout: math.MaxInt64})
}
