# Completion for bash. Written by tools/make-docs from src/plan/options.def; do not edit.
_hotlap() {
  local word=${COMP_WORDS[COMP_CWORD]} options=
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W "sweep models engines data doctor history report load run compare train memory predict tasks tune monitor --help --version" -- "$word"))
    return
  fi
  case ${COMP_WORDS[1]} in
    sweep) options="--batch-sizes --model --weights --engine --framework --plugin --engine-option --engine-library --python --provider --dtype --threads --device --device-prefer --input-shape --test-data --pipeline --preprocess-batch --reassemble-batch --progressive --samples --rounds --object --aperture-radius --pattern --snr --cache-limit --optimize --no-optimize --n-images --decode --num-runs --iterations --min-time --max-time --setup-timeout --warmup-iterations --warmup-runs --adaptive-sizing --memory-limit --safety-margin --max-batch --no-predict --no-check --order --metric-plugin --require --profile-memory --counters --plot-results --export-format --output-dir --store --seed --resume --skip-failed --dry-run --scenario --epochs --loader-threads --fail-if --simulated-clock --settings --quiet --verbose --json --help" ;;
    models) options="--weights --engine --plugin --python --threads --input-shape --n-images --calibration --ranges --percentile --output --setup-timeout --seed --quiet --verbose --json --help" ;;
    engines) options="--engine --plugin --engine-library --python --quiet --verbose --json --help" ;;
    data) options="--n-images --seed --size --positions --photons --quiet --verbose --json --help" ;;
    doctor) options="--quiet --verbose --root --json --help" ;;
    history) options="--model --max-time --no-check --plot-results --export-format --output-dir --store --command --build --build-timeout --prepare --processes --pairs --margin --alpha --fail-if --force --machine --import --import-format --limit --metric --confirm --since --quiet --verbose --json --help" ;;
    report) options="--plot-results --export-format --output-dir --store --layers --machine --quiet --verbose --json --help" ;;
    load) options="--batch-sizes --model --weights --engine --plugin --engine-option --engine-library --python --provider --dtype --threads --device --device-prefer --input-shape --test-data --n-images --decode --percentile --setup-timeout --memory-limit --no-predict --no-check --metric-plugin --require --plot-results --export-format --output-dir --store --seed --skip-failed --scenario --qps --find-max-qps --p99-target --latency-target --mode --duration --instances --batching-timeout --samples-per-query --fail-if --settings --quiet --verbose --json --help" ;;
    run) options="--profile-memory --plot-results --export-format --output-dir --store --resume --skip-failed --only --shuffle --quick --dry-run --fail-if --quiet --verbose --json --help" ;;
    compare) options="--batch-sizes --weights --engine --plugin --engine-option --engine-library --python --provider --dtype --threads --device --device-prefer --input-shape --test-data --pipeline --preprocess-batch --reassemble-batch --progressive --samples --rounds --object --aperture-radius --pattern --snr --cache-limit --optimize --no-optimize --n-images --decode --max-time --setup-timeout --warmup-iterations --memory-limit --no-check --store --seed --scenario --epochs --command --build --build-timeout --prepare --order-seed --processes --pairs --margin --alpha --fail-if --force --simulated-clock --quiet --verbose --json --help" ;;
    train) options="--batch-sizes --model --weights --engine --plugin --engine-option --engine-library --python --provider --dtype --threads --device --input-shape --test-data --n-images --decode --max-time --setup-timeout --memory-limit --no-predict --metric-plugin --require --plot-results --export-format --output-dir --store --seed --resume --skip-failed --dry-run --epochs --steps --trainer --ranks --loader-threads --drop-last --transform --loss --optimizer --learning-rate --momentum --nesterov --weight-decay --beta1 --beta2 --epsilon --clip-norm --accumulate --recompute --schedule --warmup-steps --decay --patience --min-learning-rate --early-stop --checkpoint --checkpoint-steps --resume-from --fail-if --quiet --verbose --json --help" ;;
    memory) options="--batch-sizes --model --weights --engine --plugin --engine-option --engine-library --python --provider --dtype --threads --device --device-prefer --input-shape --setup-timeout --memory-limit --max-batch --no-predict --plot-results --export-format --output-dir --store --seed --resume --skip-failed --dry-run --layers --mode --loss --optimizer --clip-norm --accumulate --recompute --quiet --verbose --json --help" ;;
    predict) options="--batch-sizes --model --engine --plugin --engine-option --engine-library --python --provider --dtype --threads --device --input-shape --test-data --n-images --setup-timeout --output-dir --seed --transform --task --overlap --blend --quiet --verbose --json --help" ;;
    tasks) options="--python --output --max-time --skip-failed --build --build-timeout --config --compare --baseline --tolerance --entry --timeout --order-seed --pairs --margin --alpha --quiet --verbose --json --help" ;;
    tune) options="--batch-sizes --model --weights --engine --plugin --engine-option --engine-library --python --provider --dtype --threads --device --device-prefer --input-shape --test-data --pipeline --n-images --decode --output --max-time --setup-timeout --memory-limit --safety-margin --max-batch --no-predict --no-check --export-format --output-dir --store --seed --processes --pairs --simulated-clock --objective --balance --max-latency --search-time --baseline-batch --find-limit --verify-seconds --quiet --verbose --json --help" ;;
    monitor) options="--once --interval --openmetrics --quiet --json --help" ;;
  esac
  case $word in
    -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}
complete -o filenames -F _hotlap hotlap
