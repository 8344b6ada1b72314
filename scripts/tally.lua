-- tally.lua: adds to the counts of what the applicants of a sale were told, by all instances.
--
-- KEYS
--   1  tally  hash  what they were told -> how many
-- ARGV
--   1  for how long the counts are kept after the last addition, milliseconds
--   2… pairs: what they were told, how many
--
-- Returns how many counts were raised. It may not be repeated: it would count twice.

for i = 2, #ARGV, 2 do
  redis.call('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1])
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return (#ARGV - 1) / 2
