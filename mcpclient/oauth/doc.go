// Package oauth signs in to protected MCP servers. It implements the authorization of the Streamable HTTP transport.
//
// A [Transport] is an [http.RoundTripper] for one server. It adds the token to every request. If the server responds
// with 401 or 403, it finds the authorization server, gets or renews the token, and repeats the request:
//
//	auth, err := oauth.New("https://mcp.example.com/mcp", &oauth.Options{
//		Grant: &oauth.AuthorizationCode{Receiver: oauth.Loopback(showAndOpen, 0)},
//		Store: store,
//	})
//	…
//	defer auth.Close()
//	client, err := mcpclient.Connect(ctx, &mcpclient.HTTP{
//		URL:    "https://mcp.example.com/mcp",
//		Client: auth.Client(),
//	}, nil)
//
// The guide is docs/authorization.md of the repository, and the program examples/oauth.
//
// # Which grant
//
//	AuthorizationCode   a person signs in, in a browser
//	ClientCredentials   a service has a secret or a key of its own
//	Enterprise          the company's identity provider vouches for the person
//	Workload            the platform (cluster, cloud) vouches for the program
//
// # Waiting requests
//
// Requests with a valid token never wait. Without one, the requests of all goroutines share one attempt to get it. A
// request stops waiting when its own context ends; the attempt continues for 30 s, so that a repeated call does not ask
// the person twice. A request in the last fifth of a token's life, at most its last minute, has the token renewed in
// the background if that takes no person.
//
// A client that connects waits for the person, too. Call [Transport.SignIn] before it connects to
// choose when the person is asked.
//
// # Checks
//
// A server that an attacker controls can name any URL as its authorization server. Each such URL must be https, and
// must not lead to a private, a link-local or a loopback address, not even by a redirect or a change of DNS. Exceptions
// are the networks of Options.AllowPrivate and, for a server on loopback, other servers there. The issuer of metadata,
// the state and the issuer of a redirect are compared exactly; the resource may be the server's URL or a parent path of
// it. The error of a failed check matches [ErrUntrusted].
//
// Secrets do not appear in errors or logs, and [Credentials] are printed without theirs.
//
// # Bounds
//
//	one request to an authorization server  30 s
//	response of an authorization server     256 KiB, after at most 3 redirects
//	URL that a server names                 8 KiB
//	wait for a person                       5 min
//	requests for more scopes per request    3
//	attempts of one request                 10
//	authorization servers of a server       16
//	scopes                                  64, of 256 bytes each
//	challenges of a response                16, in 16 KiB
//	token                                   64 KiB
//	entry of a store of NewFileStore        1 MiB
package oauth
