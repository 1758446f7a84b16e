package queue_test

import (
	"testing"

	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/internal/scenario/scenariotest"
	"github.com/berth-scheduler/berth/runtime/queue"
)

func TestScenarios(t *testing.T) {
	scenariotest.Test(t, "testdata/*.txt", func(t testing.TB, log *scenario.Log) scenario.Commands {
		return newWorld(t, queue.DefaultConfig(), log).commands()
	})
}
