import {createChallenge, solveChallenge, verifySolution} from 'altcha-lib';
import {deriveKey} from 'altcha-lib/algorithms/scrypt';
const [sig,key,bound,exp]=process.argv.slice(2);
const challenge=await createChallenge({algorithm:'SCRYPT',cost:512,memoryCost:8,parallelism:1,keyLength:32,counter:11,deriveKey,expiresAt:Number(exp),data:{bound,difficulty:16,key:3},hmacSignatureSecret:sig,hmacKeySignatureSecret:key});
const solution=await solveChallenge({challenge,deriveKey});
console.log(JSON.stringify({challenge,solution},null,1));
