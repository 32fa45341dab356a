// Package oauth signs in to protected MCP servers: it is the authorization of
// the Streamable HTTP transport.
//
// A [Transport] is an [http.RoundTripper] for one server. It adds the token to
// every request, and when the server answers 401 or 403 it finds out who
// authorizes, gets or renews the token, and repeats the request:
//
//	auth, err := oauth.New("https://mcp.example.com/mcp", &oauth.Options{
//		Grant: &oauth.AuthorizationCode{Receiver: &oauth.Loopback{Open: showAndOpen}},
//		Store: store,
//	})
//	…
//	defer auth.Close()
//	client, err := mcpclient.Connect(ctx, &mcpclient.HTTP{
//		URL:    "https://mcp.example.com/mcp",
//		Client: auth.Client(),
//	}, nil)
//
// # Which grant
//
//	AuthorizationCode   a person signs in, in a browser
//	ClientCredentials   a service has a secret or a key of its own
//	Enterprise          the company's identity provider vouches for the person
//	Workload            the platform (cluster, cloud) vouches for the program
//
// # What a request can wait for
//
// Requests that have a token that is valid never wait. When there is none, the
// requests of all goroutines share one attempt to get it. Each stops waiting
// when its own context ends; the attempt goes on for a short while, so that
// the person who is signing in is not asked twice when the call is repeated.
//
// A client that probes for the protocol's era waits a few seconds only. Call
// [Transport.SignIn] before it connects when a person may have to sign in.
//
// # What is checked
//
// A server that an attacker controls can name any URL as its authorization
// server. Every such URL must be https, and must not lead to a private, a
// link-local or a loopback address, by any redirect or change of DNS; only a
// server that is itself on loopback may name others there. The issuer of
// metadata, the resource, the state and the issuer of an answer are compared
// exactly. What fails such a check is [ErrUntrusted].
//
// Secrets do not appear in errors or logs, and Token and Credentials do not
// show theirs when printed.
package oauth
