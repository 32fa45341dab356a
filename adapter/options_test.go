package adapter

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// This table has every number of the options: the meaning of 0 and of a negative number.
func TestNumbersOfOptions(t *testing.T) {
	const none, unlimited = -1, math.MaxInt64
	type meaning struct{ zero, negative int64 }
	options := map[string]meaning{
		"OpenWait":        {0, none}, // Open waits for all, either way
		"RefreshInterval": {int64(time.Second), none},
		"KeepResults":     {0, none},
	}
	policy := map[string]meaning{
		"ConnectTimeout": {int64(30 * time.Second), unlimited},
		"IdleTimeout":    {0, none}, // 0 is the limit of the connection
		"CallTimeout":    {0, none},
		"MaxResult":      {64 << 10, unlimited},
	}
	check := func(typ reflect.Type, want map[string]meaning, made func(field int, value int64) reflect.Value) {
		for i := range typ.NumField() {
			f := typ.Field(i)
			if !f.IsExported() || f.Type.Kind() != reflect.Int && f.Type.Kind() != reflect.Int64 || f.Name == "Trust" {
				continue
			}
			m, ok := want[f.Name]
			if !ok {
				t.Errorf("%s is not in the table", f.Name)
				continue
			}
			delete(want, f.Name)
			for given, want := range map[int64]int64{0: m.zero, -1: m.negative} {
				got := made(i, given).Field(i).Int()
				check.That(t, got == want, "%s: %d means %d, want %d", f.Name, given, got, want)
			}
		}
		for name := range want {
			t.Errorf("there is no number %s", name)
		}
	}
	check(reflect.TypeFor[Options](), options, func(field int, value int64) reflect.Value {
		var o Options
		reflect.ValueOf(&o).Elem().Field(field).SetInt(value)
		return reflect.ValueOf(*o.withDefaults())
	})
	check(reflect.TypeFor[Policy](), policy, func(field int, value int64) reflect.Value {
		var p Policy
		reflect.ValueOf(&p).Elem().Field(field).SetInt(value)
		return reflect.ValueOf(newServerState((*Options)(nil).withDefaults(), &Server{Policy: p}).policy)
	})
}

// A server's policy overrides the toolset's field by field, also with "no limit".
func TestPolicyOfAServer(t *testing.T) {
	common := &Options{Policy: Policy{CallTimeout: time.Minute, MaxResult: 1000, Trust: TrustFull, Start: StartAvailable}}
	got := newServerState(common.withDefaults(), &Server{Policy: Policy{CallTimeout: -1, Trust: TrustNone}}).policy
	check.Same(t, "policy", got, Policy{CallTimeout: -1, MaxResult: 1000, Trust: TrustNone, Start: StartAvailable, ConnectTimeout: 30 * time.Second})
}

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
