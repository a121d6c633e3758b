# Completion for bash. Written by tools/make-docs from src/plan/options.def; do not edit.
_hotlap() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} options= values= files= operands=
  COMPREPLY=()
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W "sweep models engines data doctor history report load run compare train memory predict tasks tune monitor profile --help --version" -- "$word"))
    return
  fi
  case ${COMP_WORDS[1]} in
    sweep)
      options="--batch-sizes --model --weights --engine --framework --plugin --engine-option --engine-library --disable-pass --algorithms --python --provider --dtype --threads --device --launcher --remote-program --hosts --host --device-prefer --input-shape --test-data --pipeline --preprocess-batch --reassemble-batch --progressive --samples --rounds --object --aperture-radius --pattern --snr --cache-limit --optimize --no-optimize --n-images --decode --num-runs --iterations --min-time --max-time --setup-timeout --warmup-iterations --warmup-runs --adaptive-sizing --memory-limit --safety-margin --max-batch --no-predict --no-check --order --metric-plugin --require --profile-memory --counters --plot-results --export-format --output-dir --store --seed --resume --skip-failed --dry-run --scenario --epochs --loader-threads --optimizer --learning-rate --fail-if --simulated-clock --settings --quiet --verbose --json --help"
      values=" --batch-sizes --model --engine --framework --engine-option --engine-library --disable-pass --algorithms --provider --dtype --threads --device --launcher --hosts --host --device-prefer --input-shape --preprocess-batch --reassemble-batch --samples --rounds --aperture-radius --pattern --snr --cache-limit --optimize --no-optimize --n-images --decode --num-runs --iterations --min-time --max-time --setup-timeout --warmup-iterations --warmup-runs --memory-limit --safety-margin --max-batch --order --require --export-format --seed --scenario --epochs --loader-threads --optimizer --learning-rate --fail-if --simulated-clock " files=" --weights --plugin --python --remote-program --test-data --object --metric-plugin --output-dir --store --settings "
      operands="ptychopinn ptychopinn-memory resnet50 vit_b_16 dynunet transformer_encoder transformer_encoder_layer mlp linear layer_norm activation multihead_attention weighted_sum gaussian soft_product gru fft prism_generator"
      ;;
    models)
      options="--weights --engine --plugin --python --threads --input-shape --n-images --calibration --ranges --percentile --output --setup-timeout --seed --quiet --verbose --json --help"
      values=" --engine --threads --input-shape --n-images --ranges --percentile --setup-timeout --seed " files=" --weights --plugin --python --calibration --output "
      operands="export import quantize ptychopinn ptychopinn-memory resnet50 vit_b_16 dynunet transformer_encoder transformer_encoder_layer mlp linear layer_norm activation multihead_attention weighted_sum gaussian soft_product gru fft prism_generator"
      ;;
    engines)
      options="--engine --plugin --engine-library --python --quiet --verbose --json --help"
      values=" --engine --engine-library " files=" --plugin --python "
      ;;
    data)
      options="--n-images --seed --size --positions --photons --quiet --verbose --json --help"
      values=" --n-images --seed --size --positions --photons " files="  "
      operands="make show"
      ;;
    doctor)
      options="--quiet --verbose --root --json --help"
      values="  " files=" --root "
      ;;
    history)
      options="--model --max-time --no-check --plot-results --export-format --output-dir --store --command --build --build-timeout --prepare --processes --pairs --margin --alpha --fail-if --force --machine --import --import-format --limit --metric --confirm --since --quiet --verbose --json --help"
      values=" --model --max-time --export-format --command --build --build-timeout --prepare --processes --pairs --margin --alpha --fail-if --machine --import-format --limit --metric --since " files=" --output-dir --store --import "
      operands="ptychopinn ptychopinn-memory resnet50 vit_b_16 dynunet transformer_encoder transformer_encoder_layer mlp linear layer_norm activation multihead_attention weighted_sum gaussian soft_product gru fft prism_generator"
      ;;
    report)
      options="--output --plot-results --html --export-format --output-dir --store --layers --machine --quiet --verbose --serve --listen --token --token-file --merge --monitor --client-timeout --json --help"
      values=" --export-format --layers --machine --listen --token --monitor --client-timeout " files=" --output --output-dir --store --token-file "
      operands="last latest"
      ;;
    load)
      options="--batch-sizes --model --weights --engine --plugin --engine-option --engine-library --disable-pass --algorithms --python --provider --dtype --threads --device --launcher --remote-program --hosts --host --device-prefer --input-shape --test-data --n-images --decode --percentile --setup-timeout --memory-limit --no-predict --no-check --metric-plugin --require --plot-results --export-format --output-dir --store --seed --skip-failed --scenario --qps --find-max-qps --p99-target --latency-target --mode --duration --instances --batching-timeout --samples-per-query --fail-if --settings --quiet --verbose --json --help"
      values=" --batch-sizes --model --engine --engine-option --engine-library --disable-pass --algorithms --provider --dtype --threads --device --launcher --hosts --host --device-prefer --input-shape --n-images --decode --percentile --setup-timeout --memory-limit --require --export-format --seed --scenario --qps --p99-target --latency-target --mode --duration --instances --batching-timeout --samples-per-query --fail-if " files=" --weights --plugin --python --remote-program --test-data --metric-plugin --output-dir --store --settings "
      operands="ptychopinn ptychopinn-memory resnet50 vit_b_16 dynunet transformer_encoder transformer_encoder_layer mlp linear layer_norm activation multihead_attention weighted_sum gaussian soft_product gru fft prism_generator"
      ;;
    run)
      options="--launcher --remote-program --hosts --host --profile-memory --plot-results --export-format --output-dir --store --resume --skip-failed --only --shuffle --quick --dry-run --fail-if --quiet --verbose --json --help"
      values=" --launcher --hosts --host --export-format --only --shuffle --fail-if " files=" --remote-program --output-dir --store "
      operands="im2im/labelfree im2im/segmentation neurallayers prism-phase5 ptychopinn-throughput inference_tasks.csv train_tasks.csv"
      ;;
    compare)
      options="--batch-sizes --weights --engine --plugin --engine-option --engine-library --disable-pass --algorithms --python --provider --dtype --threads --device --launcher --remote-program --device-prefer --input-shape --test-data --pipeline --preprocess-batch --reassemble-batch --progressive --samples --rounds --object --aperture-radius --pattern --snr --cache-limit --optimize --no-optimize --n-images --decode --max-time --setup-timeout --warmup-iterations --memory-limit --no-check --store --seed --scenario --epochs --optimizer --learning-rate --command --build --build-timeout --prepare --order-seed --processes --pairs --margin --alpha --fail-if --force --simulated-clock --quiet --verbose --json --help"
      values=" --batch-sizes --engine --engine-option --engine-library --disable-pass --algorithms --provider --dtype --threads --device --launcher --device-prefer --input-shape --preprocess-batch --reassemble-batch --samples --rounds --aperture-radius --pattern --snr --cache-limit --optimize --no-optimize --n-images --decode --max-time --setup-timeout --warmup-iterations --memory-limit --seed --scenario --epochs --optimizer --learning-rate --command --build --build-timeout --prepare --order-seed --processes --pairs --margin --alpha --fail-if --simulated-clock " files=" --weights --plugin --python --remote-program --test-data --object --store "
      operands="ptychopinn ptychopinn-memory resnet50 vit_b_16 dynunet transformer_encoder transformer_encoder_layer mlp linear layer_norm activation multihead_attention weighted_sum gaussian soft_product gru fft prism_generator"
      ;;
    train)
      options="--batch-sizes --model --weights --engine --plugin --engine-option --engine-library --disable-pass --algorithms --python --provider --dtype --threads --device --launcher --remote-program --hosts --host --input-shape --test-data --n-images --decode --max-time --setup-timeout --memory-limit --no-predict --metric-plugin --require --plot-results --export-format --output-dir --store --seed --resume --skip-failed --dry-run --epochs --steps --trainer --ranks --loader-threads --drop-last --transform --loss --optimizer --learning-rate --momentum --nesterov --weight-decay --beta1 --beta2 --epsilon --clip-norm --accumulate --recompute --schedule --warmup-steps --decay --patience --min-learning-rate --early-stop --checkpoint --checkpoint-steps --resume-from --fail-if --quiet --verbose --json --help"
      values=" --batch-sizes --model --engine --engine-option --engine-library --disable-pass --algorithms --provider --dtype --threads --device --launcher --hosts --host --input-shape --n-images --decode --max-time --setup-timeout --memory-limit --require --export-format --seed --epochs --steps --trainer --ranks --loader-threads --transform --loss --optimizer --learning-rate --momentum --weight-decay --beta1 --beta2 --epsilon --clip-norm --accumulate --schedule --warmup-steps --decay --patience --min-learning-rate --early-stop --checkpoint-steps --fail-if " files=" --weights --plugin --python --remote-program --test-data --metric-plugin --output-dir --store --checkpoint --resume-from "
      operands="ptychopinn ptychopinn-memory resnet50 vit_b_16 dynunet transformer_encoder transformer_encoder_layer mlp linear layer_norm activation multihead_attention weighted_sum gaussian soft_product gru fft prism_generator"
      ;;
    memory)
      options="--batch-sizes --model --weights --engine --plugin --engine-option --engine-library --disable-pass --algorithms --python --provider --dtype --threads --device --launcher --remote-program --hosts --host --device-prefer --input-shape --setup-timeout --memory-limit --max-batch --no-predict --plot-results --export-format --output-dir --store --seed --resume --skip-failed --dry-run --layers --mode --loss --optimizer --clip-norm --accumulate --recompute --quiet --verbose --json --help"
      values=" --batch-sizes --model --engine --engine-option --engine-library --disable-pass --algorithms --provider --dtype --threads --device --launcher --hosts --host --device-prefer --input-shape --setup-timeout --memory-limit --max-batch --export-format --seed --layers --mode --loss --optimizer --clip-norm --accumulate " files=" --weights --plugin --python --remote-program --output-dir --store "
      operands="ptychopinn ptychopinn-memory resnet50 vit_b_16 dynunet transformer_encoder transformer_encoder_layer mlp linear layer_norm activation multihead_attention weighted_sum gaussian soft_product gru fft prism_generator"
      ;;
    predict)
      options="--batch-sizes --model --engine --plugin --engine-option --engine-library --disable-pass --algorithms --python --provider --dtype --threads --device --input-shape --test-data --n-images --setup-timeout --output-dir --seed --transform --task --overlap --blend --quiet --verbose --json --help"
      values=" --batch-sizes --model --engine --engine-option --engine-library --disable-pass --algorithms --provider --dtype --threads --device --input-shape --n-images --setup-timeout --seed --transform --task --overlap --blend " files=" --plugin --python --test-data --output-dir "
      operands="ptychopinn ptychopinn-memory resnet50 vit_b_16 dynunet transformer_encoder transformer_encoder_layer mlp linear layer_norm activation multihead_attention weighted_sum gaussian soft_product gru fft prism_generator"
      ;;
    tasks)
      options="--python --output --max-time --skip-failed --build --build-timeout --config --compare --baseline --tolerance --entry --timeout --order-seed --pairs --margin --alpha --quiet --verbose --json --help"
      values=" --max-time --build --build-timeout --baseline --tolerance --entry --timeout --order-seed --pairs --margin --alpha " files=" --python --output --config "
      ;;
    tune)
      options="--batch-sizes --model --weights --engine --plugin --engine-option --engine-library --disable-pass --algorithms --python --provider --dtype --threads --device --launcher --remote-program --device-prefer --input-shape --test-data --pipeline --n-images --decode --output --max-time --setup-timeout --memory-limit --safety-margin --max-batch --no-predict --no-check --export-format --output-dir --store --seed --processes --pairs --simulated-clock --objective --balance --max-latency --search-time --baseline-batch --find-limit --verify-seconds --quiet --verbose --json --help"
      values=" --batch-sizes --model --engine --engine-option --engine-library --disable-pass --algorithms --provider --dtype --threads --device --launcher --device-prefer --input-shape --n-images --decode --max-time --setup-timeout --memory-limit --safety-margin --max-batch --export-format --seed --processes --pairs --simulated-clock --objective --balance --max-latency --search-time --baseline-batch --verify-seconds " files=" --weights --plugin --python --remote-program --test-data --output --output-dir --store "
      operands="ptychopinn ptychopinn-memory resnet50 vit_b_16 dynunet transformer_encoder transformer_encoder_layer mlp linear layer_norm activation multihead_attention weighted_sum gaussian soft_product gru fft prism_generator"
      ;;
    monitor)
      options="--once --interval --openmetrics --quiet --json --help"
      values=" --interval " files=" --openmetrics "
      ;;
    profile)
      options="--batch-sizes --model --weights --engine --plugin --engine-option --engine-library --disable-pass --algorithms --python --provider --dtype --threads --device --launcher --remote-program --device-prefer --input-shape --test-data --pipeline --preprocess-batch --reassemble-batch --progressive --samples --rounds --object --aperture-radius --pattern --snr --cache-limit --optimize --no-optimize --n-images --decode --max-time --setup-timeout --warmup-iterations --output-dir --seed --scenario --mode --epochs --steps --loss --optimizer --learning-rate --clip-norm --accumulate --recompute --import --quiet --verbose --by --top --no-overhead --json --help"
      values=" --batch-sizes --model --engine --engine-option --engine-library --disable-pass --algorithms --provider --dtype --threads --device --launcher --device-prefer --input-shape --preprocess-batch --reassemble-batch --samples --rounds --aperture-radius --pattern --snr --cache-limit --optimize --no-optimize --n-images --decode --max-time --setup-timeout --warmup-iterations --seed --scenario --mode --epochs --steps --loss --optimizer --learning-rate --clip-norm --accumulate --by --top " files=" --weights --plugin --python --remote-program --test-data --object --output-dir --import "
      operands="ptychopinn ptychopinn-memory resnet50 vit_b_16 dynunet transformer_encoder transformer_encoder_layer mlp linear layer_norm activation multihead_attention weighted_sum gaussian soft_product gru fft prism_generator"
      ;;
  esac
  if [ "$before" = = ]; then # --name=value comes as three words
    before=${COMP_WORDS[COMP_CWORD - 2]}
  elif [ "$word" = = ]; then
    word=
  fi
  if [ "$before" = --engine ]; then
    COMPREPLY=($(compgen -W "native null onnxruntime openvino jax tensorflow torch" -- "$word"))
  elif [ "$before" = --model ] && [[ $values = *" --model "* ]]; then
    COMPREPLY=($(compgen -W "ptychopinn ptychopinn-memory resnet50 vit_b_16 dynunet transformer_encoder transformer_encoder_layer mlp linear layer_norm activation multihead_attention weighted_sum gaussian soft_product gru fft prism_generator" -- "$word"))
  elif [[ $files = *" $before "* ]]; then
    COMPREPLY=($(compgen -f -- "$word"))
  elif [[ $values = *" $before "* ]]; then
    return # a number, or words that only the help knows
  elif [[ $word = -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  else
    COMPREPLY=($(compgen -W "$operands" -- "$word") $(compgen -f -- "$word"))
  fi
}
complete -o filenames -F _hotlap hotlap
