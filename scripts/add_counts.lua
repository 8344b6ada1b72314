-- add_counts.lua: adds an instance's counts of outcomes to those that all instances share for a sale.
--
-- KEYS
--   1  outcomes  hash  outcome -> how many requests it answered
-- ARGV
--   1  for how long the counts are kept after the last addition, milliseconds
--   2… pairs: outcome, how many
--
-- Returns how many counts were raised. It must not be repeated: it would count twice.
--
-- Needs: keys

-- What somebody else put there is no count, and is replaced: it must not fail every flush from now on.
remove_unless('hash', KEYS[1])
for i = 2, #ARGV, 2 do
  if type(redis.pcall('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1])) ~= 'number' then
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
  end
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return (#ARGV - 1) / 2
