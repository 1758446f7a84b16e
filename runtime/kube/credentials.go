package kube

import "k8s.io/client-go/rest"

// describe keeps where the credentials of a connection are from, and what it trusts.
func (r *Reach) describe(kubeconfig string, c *rest.Config) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.credentials, r.authority = credentialsOf(kubeconfig, c), authorityOf(kubeconfig, c)
}

// credentialsOf says what to do when the API server does not accept the credentials.
func credentialsOf(kubeconfig string, c *rest.Config) string {
	where := "kubeconfig " + kubeconfig
	switch {
	case kubeconfig == "" && c.BearerTokenFile == "":
		return "give a kubeconfig with credentials (--kubeconfig)"
	case kubeconfig == "":
		where = "the service account of this pod"
	}
	switch {
	case c.ExecProvider != nil:
		return "see what " + c.ExecProvider.Command + " gives, which " + where + " names (users[].user.exec)"
	case c.BearerTokenFile != "":
		return "put a token that is valid into " + c.BearerTokenFile + ", of " + where + "; it is read again every minute"
	case c.BearerToken != "":
		return "put a token that is valid into " + where + " (users[].user.token), and start again"
	case c.CertFile != "":
		return "put a certificate that is valid, and of an authority that the API server trusts, into " + c.CertFile + ", which " + where + " names, and start again"
	case len(c.CertData) > 0:
		return "put a certificate that is valid, and of an authority that the API server trusts, into " + where + " (users[].user.client-certificate-data), and start again"
	case c.Username != "":
		return "put a user and a password that are valid into " + where + ", and start again"
	}
	return where + " has no credentials: add a token or a client certificate (users[].user), and start again"
}

// authorityOf says what to do when the certificate of the API server is of an unknown
// authority.
func authorityOf(kubeconfig string, c *rest.Config) string {
	if kubeconfig == "" && c.CAFile == "" {
		return "give a kubeconfig with the certificate of the API server's authority (--kubeconfig)"
	}
	what := "put the certificate of the API server's authority into "
	switch {
	case c.CAFile != "" && kubeconfig != "":
		return what + c.CAFile + ", which kubeconfig " + kubeconfig + " names, and start again"
	case c.CAFile != "":
		return what + c.CAFile + ", and start again"
	case len(c.CAData) > 0:
		return what + "kubeconfig " + kubeconfig + " (clusters[].cluster.certificate-authority-data), and start again"
	}
	return "kubeconfig " + kubeconfig + " names no authority: " + what + "it (clusters[].cluster.certificate-authority-data), and start again"
}
