package sampling

import (
	"context"

	"github.com/mcpchain/mcpchain/internal/price"
)

// Prices is a table of prices. Date is the day when they were looked up, such as
// "2026-11-22": [New] refuses a table with prices and without a day. The first price in Models counts whose name fits. There are no built-in
// prices.
type Prices = price.Table

// Price is what a million tokens of a model cost, in millionths of a currency's unit:
//
//	{Model: "gpt-5-mini*", Currency: "USD", Input: 250_000, Cached: 25_000, Output: 2_000_000}
//
// In the name of the model * stands for any text. Cached and CacheWrite are for input that
// is read from and written to a cache, by default as Input. Reasoning is by default as
// Output.
type Price = price.Price

// Money is an amount, Micro, in millionths of the unit of a Currency. The zero Money is an
// unknown amount.
type Money = price.Money

// Account is charged for completions beside the [Limits]: for a run of package agent, by
// what servers sample during its calls. It is an interface with one method:
//
//	Reserve(most Charge) (settle func(Charge), err error)
//
// Reserve gets an upper bound for each completion before the model is asked, and may
// refuse it. settle is called once, with what the completion took. An account is used concurrently.
type Account = price.Account

// Charge is what a completion takes or may take, for an [Account]: the Model, the Tokens
// (Input, Cached, CacheWrite, Output, Reasoning), the Cost as [Money], without a currency if
// the price is unknown, and Estimated, if the host did not count all of it.
type Charge = price.Charge

// WithAccount returns a context for [Sampler.CreateMessage]: the completion is charged to
// the account, too.
func WithAccount(ctx context.Context, a Account) context.Context { return price.WithAccount(ctx, a) }

func (o *Options) priceOf(model string) *Price {
	p, ok := o.Prices.Of(model)
	if !ok {
		return nil
	}
	return &p
}
