-- add_counts.lua: adds an instance's counts of outcomes to those that all instances share for a sale.
--
-- KEYS
--   1  tally  hash  outcome -> how many requests it answered
-- ARGV
--   1  for how long the counts are kept after the last addition, milliseconds
--   2… pairs: outcome, how many
--
-- Returns how many counts were raised. It must not be repeated: it would count twice.

for i = 2, #ARGV, 2 do
  redis.call('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1])
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return (#ARGV - 1) / 2
