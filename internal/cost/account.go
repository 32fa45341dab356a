package cost

import "context"

// Charge is the usage of a completion, or a bound of it.
type Charge struct {
	Model  string // the name of the model at its host
	Tokens Tokens
	Cost   Money // without a currency if the price is unknown
}

// Account is charged for the completions that somebody else makes for it: a run of an
// agent, for what servers sample during its calls. It is used concurrently.
type Account interface {
	// Reserve reserves an upper bound for a completion before its model is called. An error refuses
	// the completion. Otherwise settle is called once, with the usage of the completion.
	Reserve(most Charge) (settle func(Charge), err error)
}

type accountKey struct{}

// WithAccount returns a context whose completions are charged to an account.
func WithAccount(ctx context.Context, a Account) context.Context {
	return context.WithValue(ctx, accountKey{}, a)
}

// AccountFrom returns the account of a context, nil if it has none.
func AccountFrom(ctx context.Context) Account {
	a, _ := ctx.Value(accountKey{}).(Account)
	return a
}
