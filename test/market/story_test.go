package market_test

import (
	"io"
	"log"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
)

// TestStory: the commands of docs/market.md do the same with the registry of another project,
// with the referrers API and without.
func TestStory(t *testing.T) {
	for name, referrers := range map[string]bool{"with referrers API": true, "without referrers API": false} {
		t.Run(name, func(t *testing.T) { elsewhere(t, referrers, "TestRestMarketDoc", "team/rack-aware", "0.1.1") })
	}
}

// TestCatalogue: the catalogue is published in the registry of another project, and installed from there.
func TestCatalogue(t *testing.T) { elsewhere(t, false, "TestRestCatalogue", "catalogue/rank", "1.0.0") }

// elsewhere runs a test of package cmd/app with the registry of another project, in which a repository then has a tag.
func elsewhere(t *testing.T, referrers bool, test, repository, tag string) {
	t.Helper()
	served := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(referrers)))
	defer served.Close()
	host := strings.TrimPrefix(served.URL, "http://")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-run", "^"+test+"$", "-v", "./cmd/app", "-args", "-registry", host)
	cmd.Dir = "../.."
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if strings.Contains(string(out), "--- SKIP") {
		t.Skipf("%s", out)
	}
	if !strings.Contains(string(out), "--- PASS: "+test) {
		t.Errorf("the commands were not run:\n%s", out)
	}
	response, err := served.Client().Get(served.URL + "/v2/" + repository + "/tags/list")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if tags, err := io.ReadAll(response.Body); err != nil || !strings.Contains(string(tags), `"`+tag+`"`) {
		t.Errorf("the registry has %s, %v", tags, err)
	}
}
