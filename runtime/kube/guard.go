package kube

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/path"
	"k8s.io/apiserver/pkg/authorization/union"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes"
)

// GuardConfig says who may see what a scheduler serves.
type GuardConfig struct {
	// Open lists paths without authorization; a * at the end matches anything.
	Open []string
	// OfPod (optional) returns the pod that a request is about, and the request to answer for users who may get that pod but have no
	// right to the path, which a Role cannot grant; false if it is about none.
	OfPod func(*http.Request) (pod types.NamespacedName, limited *http.Request, ok bool)
	// TokenTTL, AllowTTL and DenyTTL are how long answers of the API server are cached.
	TokenTTL, AllowTTL, DenyTTL time.Duration
}

// GuardDeps are the dependencies of Guard.
type GuardDeps struct {
	// Authentication creates TokenReviews, Authorization creates SubjectAccessReviews.
	Authentication, Authorization kubernetes.Interface
	// ClientCA (optional) has the authorities of client certificates.
	ClientCA dynamiccertificates.CAContentProvider
}

// guardTimeout bounds a request to the API server.
const guardTimeout = 10 * time.Second

// Guard authenticates clients by TokenReview or client certificate, and authorizes them for
// the path by SubjectAccessReview, as kube-scheduler does, or for the pod that the path names.
func Guard(handler http.Handler, c GuardConfig, d GuardDeps) (http.Handler, error) {
	retries := &wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 5}
	authentication := authenticatorfactory.DelegatingAuthenticatorConfig{
		Anonymous:                &apiserver.AnonymousAuthConfig{Enabled: true},
		TokenAccessReviewClient:  d.Authentication.AuthenticationV1(),
		TokenAccessReviewTimeout: guardTimeout,
		WebhookRetryBackoff:      retries,
		CacheTTL:                 c.TokenTTL,
	}
	if d.ClientCA != nil {
		authentication.ClientCertificateCAContentProvider = d.ClientCA
	}
	authenticate, _, err := authentication.New()
	if err != nil {
		return nil, err
	}
	open, err := path.NewAuthorizer(c.Open)
	if err != nil {
		return nil, err
	}
	review, err := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: d.Authorization.AuthorizationV1(),
		AllowCacheTTL:             c.AllowTTL,
		DenyCacheTTL:              c.DenyTTL,
		WebhookRetryBackoff:       retries,
	}.New()
	if err != nil {
		return nil, err
	}
	authorize, err := union.New(union.NamedAuthorizer{AuthorizerName: "open", Authorizer: open},
		union.NamedAuthorizer{AuthorizerName: "review", Authorizer: review})
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, known, err := authenticate.AuthenticateRequest(r)
		if why := unasked(err); !known && why != nil {
			http.Error(w, "the scheduler cannot ask the API server who sends this: "+why.Error(), http.StatusServiceUnavailable)
			return
		}
		if err != nil || !known {
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		decision, reason, err := authorize.Authorize(r.Context(), authorizer.AttributesRecord{
			User: who.User, Verb: verbOf(r.Method), Path: r.URL.Path,
		})
		if why := unasked(err); decision == authorizer.DecisionNoOpinion && why != nil {
			http.Error(w, "the scheduler cannot ask the API server what "+who.User.GetName()+" may do: "+why.Error(), http.StatusServiceUnavailable)
			return
		}
		if decision != authorizer.DecisionAllow {
			text := "Forbidden: user " + who.User.GetName() + " may not " + verbOf(r.Method) + " the nonResourceURL " + r.URL.Path
			if c.OfPod != nil {
				if pod, limited, ok := c.OfPod(r); ok {
					if decision, _, _ := review.Authorize(r.Context(), authorizer.AttributesRecord{
						User: who.User, Verb: "get", APIVersion: "v1", Resource: "pods", Namespace: pod.Namespace, Name: pod.Name, ResourceRequest: true,
					}); decision == authorizer.DecisionAllow {
						handler.ServeHTTP(w, limited)
						return
					}
					text += ", nor get the pod " + pod.String()
				}
			}
			if reason != "" {
				text += ": " + reason
			}
			if err != nil {
				text += ": " + err.Error()
			}
			http.Error(w, text, http.StatusForbidden)
			return
		}
		handler.ServeHTTP(w, r)
	}), nil
}

// unasked returns why the API server did not review a request, out of the errors of all authenticators or authorizers; nil if it did.
func unasked(err error) error {
	var (
		all    utilerrors.Aggregate
		status apierrors.APIStatus
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &all):
		for _, one := range all.Errors() {
			if why := unasked(one); why != nil {
				return why
			}
		}
		return nil
	case outageOf(err) != "":
		return fmt.Errorf("%s: %w", strings.TrimSuffix(outageOf(err), outageConsequence), err)
	case errors.As(err, &status): // it was not let in, or the API server has no data
		return err
	}
	return nil
}

// verbOf returns the verb of a method in RBAC rules for URLs.
func verbOf(method string) string {
	switch method {
	case http.MethodGet:
		return "get"
	case http.MethodHead:
		return "head"
	}
	return "post"
}
