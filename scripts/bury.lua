-- bury.lua: moves one stream entry that cannot be decoded to the dead letters. Only the call that still finds it
-- pending writes the letter, so there is one, however often it is sent.
--
-- KEYS (one hash slot)
--   1  orders  stream
--   2  dead    stream
-- ARGV
--   1  group
--   2  id of the entry
--   3  why it cannot be decoded, for people
--   4… its fields and values as they stand
--
-- Returns 1 (buried) or 0 (it was not pending any more).
-- The letter has the fields key (the entry's id), why, and the entry's own, each with "raw." before its name.

if #ARGV < 3 or #ARGV % 2 == 0 then
  return redis.error_reply('ERR bury.lua: bad arguments')
end
local letter = {'key', ARGV[2], 'why', ARGV[3]}
for i = 4, #ARGV, 2 do
  letter[#letter + 1] = 'raw.' .. ARGV[i]
  letter[#letter + 1] = ARGV[i + 1]
end
-- XACK is never refused for want of memory, and what follows a script's first write is not either.
if redis.call('XACK', KEYS[1], ARGV[1], ARGV[2]) == 0 then
  return 0
end
redis.call('XADD', KEYS[2], '*', unpack(letter))
redis.call('XDEL', KEYS[1], ARGV[2])
return 1
